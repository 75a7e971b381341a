import { expect, test } from "vitest";
import { diffLines, diffWords } from "./diff.ts";

const shown = (before: string, after: string) =>
  diffLines(before, after).map(({ text, kind }) => `${{ same: " ", added: "+", removed: "-" }[kind]}${text}`);

test("lines that were added, removed and changed", () => {
  expect(shown("a\nb\nc", "a\nx\nc\nd")).toEqual([" a", "-b", "+x", " c", "+d"]);
  expect(shown("a\nb", "b")).toEqual(["-a", " b"]);
  expect(shown("", "a")).toEqual(["-", "+a"]);
  expect(shown("same\ntext", "same\ntext")).toEqual([" same", " text"]);
});

const words = (before: string, after: string) =>
  diffWords(before, after).map(({ text, kind }) => `${{ same: "", added: "+", removed: "-" }[kind]}${text}`);

test("words that were added, removed and changed, with the space before them; line ends are spaces", () => {
  expect(words("a red fox,\nrunning", "a blue fox, running fast")).toEqual([
    "a",
    "- red",
    "+ blue",
    " fox",
    ",",
    " running",
    "+ fast",
  ]);
});

test("scripts without spaces are compared letter by letter", () => {
  expect(words("红色狐狸", "蓝色狐狸")).toEqual(["-红", "+蓝", "色", "狐", "狸"]);
});

test("a text of thousands of signs is compared by its words", () => {
  const long = "!? ".repeat(900);
  expect(words(`${long}old`, `${long}new`).slice(-2)).toEqual(["- old", "+ new"]);
});
