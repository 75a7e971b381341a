import { expect, test } from "vitest";
import { placeAt } from "./place-at.ts";

test("D8 a row is dragged to any place, the first and the last too", () => {
  const middles = [10, 30, 50];
  expect(placeAt(middles, 0, 2)).toBe(0);
  expect(placeAt(middles, 40, 0)).toBe(1);
  expect(placeAt(middles, 60, 0)).toBe(2);
  expect(placeAt(middles, 31, 1)).toBe(1);
  expect(placeAt(middles, 29, 1)).toBe(1);
});
