import { expect, test } from "vitest";
import { rangeBetween } from "./range-between.ts";

const items = ["a", "b", "c", "d"].map((id) => ({ id }));

test("a range holds both ends, whichever comes first", () => {
  expect(rangeBetween(items, "b", "d")).toEqual(["b", "c", "d"]);
  expect(rangeBetween(items, "d", "b")).toEqual(["b", "c", "d"]);
});

test("a range from a picture that is gone is the clicked picture alone", () => {
  expect(rangeBetween(items, "z", "c")).toEqual(["c"]);
});
