import { expect, test } from "vitest";
import { roundTime, spanOf } from "./time-span.ts";

test("D8 a time is rounded as people say it", () => {
  const said = (ms: number) => Object.values(roundTime(ms)).join(" ");
  expect([300, 8_400, 21_000, 59_000, 150_000, 1_900_000, 7_000_000].map(said)).toEqual([
    "1 seconds",
    "8 seconds",
    "20 seconds",
    "1 minutes",
    "3 minutes",
    "30 minutes",
    "2 hours",
  ]);
});

test("D8 a range whose ends read the same is one time, and one that ends now is none", () => {
  expect(spanOf([0, 0])).toBeNull();
  expect(spanOf([19_000, 21_000])).toMatchObject({ isOne: true, high: { value: 20, unit: "seconds" } });
  expect(spanOf([8_000, 15_000])).toMatchObject({ isOne: false, low: { value: 8 }, high: { value: 15 } });
});
