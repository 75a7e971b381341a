import { expect, test } from "vitest";
import { foreignBytes, foreignCount, foreignText, isStorable, jsonObject, parseForeignJson } from "./text.ts";

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

const nest = (levels: number): unknown => (levels === 0 ? 1 : { in: nest(levels - 1) });

test.each([
  ["an empty object", {}],
  ["every kind of JSON", { a: [1, -2.5, true, null, "ü😀", { b: {} }] }],
  ["100 bytes", { a: "x".repeat(92) }],
  ["20 levels", nest(19)],
])("D12 a JSON object may be %s", (_what, value) => {
  expect(jsonObject(100).or(jsonObject(1_000)).parse(value)).toEqual(value);
});

const part = Array.from({ length: 40 }, () => "x");

test.each([
  ["an array", []],
  ["a text", "{}"],
  ["a date", { a: new Date(0) }],
  ["a map", { a: new Map() }],
  ["nothing", { a: undefined }],
  ["a number that JSON has not", { a: Number.NaN }],
  ["a large whole number of another type", { a: 1n }],
  ["NUL in a text", { a: "\0" }],
  ["NUL within a text", { a: "a\0b" }],
  ["half a letter in a name", { "\ud83d": 1 }],
  ["half a letter within a text", { a: ["half \ud83d of one"] }],
  ["the other half of a letter", { a: { b: "\udc00" } }],
  ["101 bytes", { a: "x".repeat(93) }],
  ["letters of several bytes, 102 in all", { a: "ü".repeat(47) }],
  ["too many levels", nest(21)],
  ["endless levels", nest(5_000)],
  ["a part that is repeated beyond the limit", { a: Array.from({ length: 1e6 }, () => part) }],
])("D12 a JSON object may not hold %s", (_what, value) => {
  expect(jsonObject(100).safeParse(value).success).toBe(false);
});

test.each([
  [
    "numbers of Python",
    '{"is_changed":[NaN, 1],"a":{"max":Infinity,"min":-Infinity}}',
    {
      is_changed: [null, 1],
      a: { max: null, min: null },
    },
  ],
  [
    "words in strings as they are",
    '{"t":"NaN, \\"Infinity\\" \\\\","n":NaN}',
    { t: 'NaN, "Infinity" \\', n: null },
  ],
  ["a byte order mark", '\ufeff{"a":1}', { a: 1 }],
  ["a byte order mark and numbers of Python", "\ufeff[-Infinity]", [null]],
  ["null", "null", null],
  ["other words", "[Nan, infinity]", undefined],
  ["half a text", '{"a":NaN,"b":"', undefined],
])("A10 the JSON of a server may hold %s", (_name, text, value) => {
  expect(parseForeignJson(text)).toEqual(value);
});
