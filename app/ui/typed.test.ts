import { expect, test } from "vitest";
import { isOfInputMethod, readNumber } from "./typed.ts";

test("the key that ends a composition is the input method's, also where the browser ends it first", () => {
  expect(isOfInputMethod({ isComposing: true, keyCode: 13 })).toBe(true);
  expect(isOfInputMethod({ isComposing: false, keyCode: 229 })).toBe(true);
  expect(isOfInputMethod({ isComposing: false, keyCode: 13 })).toBe(false);
});

test.each([
  ["1024", "en", 1_024],
  ["1,024", "en", 1_024],
  ["1.024", "de", 1_024],
  ["1.024", "es", 1_024],
  ["1 024", "ru", 1_024],
  ["1\u00a0024", "bg", 1_024],
  ["1,024", "de", 1.024],
  ["1.024", "en", 1.024],
  ["1.024", "bg", 1.024],
  ["0,5", "en", 0.5],
  ["0.5", "de", 0.5],
  ["0,125", "en", 0.125],
  ["7,5", "ru", 7.5],
  ["1,234,567", "de", 1_234_567],
  ["1.234,5", "en", 1_234.5],
  ["1,234.5", "de", 1_234.5],
  ["１０２４", "zh-CN", 1_024],
  ["０．５", "zh-CN", 0.5],
  ["−3", "en", -3],
  ["5.", "en", 5],
  [",5", "de", 0.5],
  ["1e3", "en", 1_000],
])("%s in %s", (text, locale, number) => {
  expect(readNumber(text, locale)).toBe(number);
});

test.each(["", " ", "many", "1,2,3", "1.2.3", "12px", "1,,024", "--1", "0x10", "Infinity"])(
  "%s is no number",
  (text) => {
    expect(readNumber(text, "en")).toBeNaN();
  },
);
