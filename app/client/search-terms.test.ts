import { expect, test } from "vitest";
import { hasTerm, readableSearch, toggleTerm } from "./search-terms.ts";

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
