import { expect, test } from "vitest";
import { completionsOf, hasTerm, readableSearch, toggleTerm } from "./search-terms.ts";

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

const offered = {
  kind: [
    { value: "upscale", label: "Upscale" },
    { value: "outfit_change", label: "Outfit change" },
  ],
  tag: [{ value: "two words" }, { value: "kites" }],
  board: [{ value: "kind people" }],
};

test("an empty line offers the operators that need no model, a letter those that begin with it, and an operator its values", () => {
  expect(completionsOf("", offered)).toHaveLength(10);
  expect(completionsOf("k", offered).map(({ text }) => text)).toEqual(["kind:"]);
  expect(completionsOf("red ki", offered).map(({ text }) => text)).toEqual([
    "red kind:",
    'red board:"kind people" ',
    "red tag:kites ",
  ]);
  expect(completionsOf("red -kind:", offered).map(({ text }) => text)).toEqual([
    "red -kind:upscale ",
    "red -kind:outfit_change ",
  ]);
  expect(completionsOf('tag:"two', offered).map(({ text }) => text)).toEqual(['tag:"two words" ']);
  expect(completionsOf("kind:upscale", offered)).toEqual([]);
  expect(completionsOf("red ", offered)).toEqual([]);
  expect(completionsOf("12:3", offered)).toEqual([]);
});
