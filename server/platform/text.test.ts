import { expect, test } from "vitest";
import { foreignBytes, foreignCount, foreignText, isStorable } from "./text.ts";

test.each([
  ["a plain name", "a plain name"],
  ["a\0b\r\n\tc", "a b c"],
  ["half \ud83d", "half \ufffd"],
  [`${"x".repeat(199)}😀`, `${"x".repeat(199)}\ufffd`],
  ["long ".repeat(1_000), "long ".repeat(40)],
])("A12 a server's text %j can be stored", (said, told) => {
  expect(foreignText.parse(said)).toBe(told);
  expect(isStorable(told)).toBe(true);
});

test("A10 a server's numbers are whole and fit their columns", () => {
  expect([1.6, -3, 1e30].map((value) => foreignCount.parse(value))).toEqual([2, 0, 2 ** 31 - 1]);
  expect([1.6, -3, 1e30].map((value) => foreignBytes.parse(value))).toEqual([2, 0, Number.MAX_SAFE_INTEGER]);
  expect(foreignBytes.safeParse(JSON.parse("1e999")).success).toBe(false);
});
