import { expect, test } from "vitest";
import { diffLines } from "./diff.ts";

const shown = (before: string, after: string) =>
  diffLines(before, after).map(({ text, kind }) => `${{ same: " ", added: "+", removed: "-" }[kind]}${text}`);

test("lines that were added, removed and changed", () => {
  expect(shown("a\nb\nc", "a\nx\nc\nd")).toEqual([" a", "-b", "+x", " c", "+d"]);
  expect(shown("a\nb", "b")).toEqual(["-a", " b"]);
  expect(shown("", "a")).toEqual(["-", "+a"]);
  expect(shown("same\ntext", "same\ntext")).toEqual([" same", " text"]);
});
