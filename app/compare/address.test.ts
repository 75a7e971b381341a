import { expect, test } from "vitest";
import { compareHref, readIds, swapped } from "./address.ts";

const [one, other] = ["01a22bb9-5e26-7527-8ed1-f0d1109fedb3", "01a22bb9-5e26-7527-8ed1-f0d1109fedb4"];

test.each([
  ["nothing", null, []],
  ["nonsense", "foo,,../etc,<b>,1", []],
  ["an id and nonsense", ` ${one} ,foo`, [one]],
  ["an id twice, in other letters", `${one},${other},${one.toUpperCase()}`, [one, other]],
])("an address that names %s", (_what, text, ids) => {
  expect(readIds(text)).toEqual(ids);
});

test("an address names what it was made of", () => {
  const url = new URL(compareHref([other, one]), "http://studio.test");
  expect([url.pathname, readIds(url.searchParams.get("ids"))]).toEqual(["/compare", [other, one]]);
});

test.each([
  [0, "bacd"],
  [1, "bacd"],
  [2, "acbd"],
  [3, "abdc"],
])("the picture at %i changes places with the one before, the first one with the next", (at, after) => {
  expect(swapped(["a", "b", "c", "d"], at).join("")).toBe(after);
});

test("one alone and one that is not there change places with none", () => {
  expect(swapped(["a"], 0)).toEqual(["a"]);
  expect(swapped(["a", "b"], -1)).toEqual(["a", "b"]);
  expect(swapped([], 0)).toEqual([]);
});
