import { expect, test } from "vitest";
import { roundTime, spanOf } from "./waiting-text.ts";

const said = (toWhole: (steps: number) => number) => (ms: number) =>
  Object.values(roundTime(ms, toWhole)).join(" ");

test("D8 a time is rounded as people say it", () => {
  const times = [300, 8_400, 21_000, 59_000, 150_000, 1_900_000, 5_200_000, 20_000_000];
  expect(times.map(said(Math.floor))).toEqual([
    "1 seconds",
    "8 seconds",
    "20 seconds",
    "55 seconds",
    "2 minutes",
    "30 minutes",
    "1 hours",
    "5 hours",
  ]);
  expect(times.map(said(Math.ceil))).toEqual([
    "1 seconds",
    "9 seconds",
    "25 seconds",
    "1 minutes",
    "3 minutes",
    "35 minutes",
    "1.5 hours",
    "6 hours",
  ]);
});

test("D8 a range holds what it was made of; equal ends are one time, and one that ends now is none", () => {
  expect(spanOf([0, 0])).toBeNull();
  expect(spanOf([20_000, 20_000])).toMatchObject({ isOne: true, high: { value: 20, unit: "seconds" } });
  expect(spanOf([19_000, 21_000])).toMatchObject({ isOne: false, low: { value: 15 }, high: { value: 25 } });
  expect(spanOf([8_000, 15_000])).toMatchObject({ isOne: false, low: { value: 8 }, high: { value: 15 } });
});
