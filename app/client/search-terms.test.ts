import { expect, test } from "vitest";
import {
  hasTerm,
  isBoardAlone,
  isByDay,
  isNewestFirst,
  readableSearch,
  toggleTerm,
  withoutOrder,
} from "./search-terms.ts";

test("a chip and its term are one: it adds the term, takes it out, and replaces what excludes it", () => {
  expect(toggleTerm("red dress", "is:starred")).toBe("red dress is:starred");
  expect(toggleTerm('red IS:starred "two words"', "is:starred")).toBe('red "two words"');
  expect(toggleTerm("is:upload", "is:result", ["is:upload"])).toBe("is:result");
  expect(hasTerm("Kind:Upscale", "kind:upscale")).toBe(true);
});

test("what cannot be read is left out of what is asked, and named", () => {
  expect(readableSearch("red rating:x")).toEqual({
    search: "red",
    wrong: { source: "rating:x", operator: "rating" },
  });
  expect(readableSearch("  ")).toEqual({ search: undefined, wrong: null });
});

test("an order is taken out of what is found, and says whether the list goes by days and begins at the newest", () => {
  expect(["", "order:oldest", 'red  "two  words" Order:Rated', "-order:rated red"].map(withoutOrder)).toEqual(
    ["", undefined, 'red "two  words"', "red"],
  );
  expect(withoutOrder("red   dress")).toBe("red   dress");
  expect(["", "order:made", "order:oldest", "order:rated"].map(isNewestFirst)).toEqual([
    true,
    true,
    false,
    false,
  ]);
  expect(["", "order:oldest", "order:added", "order:x"].map(isByDay)).toEqual([true, true, false, true]);
  const near = [
    "near:dog",
    "near:dog order:oldest",
    "similar:0198c5a0-0000-7000-8000-000000000001 order:made",
    "-near:dog order:oldest",
  ];
  expect(near.map(isNewestFirst)).toEqual([false, false, false, false]);
  expect(near.map(isByDay)).toEqual([false, false, false, true]);
  expect(["board:a order:oldest", "board:a red"].map(isBoardAlone)).toEqual([true, false]);
});
