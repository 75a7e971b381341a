import { expect, test } from "vitest";
import { parseSearch } from "@atelier/server/search-query";
import { completionsOf, exampleOf, offeredOperators } from "./search-completions.ts";

const offered = {
  kind: [
    { value: "upscale", label: "Upscale" },
    { value: "outfit_change", label: "Outfit change" },
  ],
  tag: [{ value: "two words" }, { value: "kites" }],
  board: [{ value: "kind people" }],
};

test("an empty line offers the operators that need no model, a letter those that begin with it, and an operator its values", () => {
  expect(completionsOf("", offered)).toHaveLength(11);
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

test("an example is of what the user has, and each can be read", () => {
  expect(exampleOf("board", offered)).toBe('board:"kind people"');
  expect(exampleOf("kind", offered)).toBe("kind:upscale");
  expect(exampleOf("model", offered)).toBeNull();
  const examples = offeredOperators.flatMap((name) => exampleOf(name, offered) ?? []);
  expect(examples.length).toBeGreaterThan(6);
  for (const example of examples)
    expect([example, parseSearch(example).map(({ meaning }) => "name" in meaning)]).toEqual([
      example,
      [true],
    ]);
});
