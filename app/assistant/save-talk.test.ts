import type { Turn } from "@atelier/server/assistant";
import { expect, test } from "vitest";
import { fileNameOf, markdownOf } from "./save-talk.ts";

const words = {
  untitled: "Untitled",
  earlier: "Earlier ones are missing.",
  picture: (number: number) => `Picture ${number}`,
  time: (iso: string) => iso.slice(0, 16),
};
const turn = (changes: Partial<Turn>): Turn => ({
  runId: "run",
  question: "Which dress?",
  pictures: [],
  answer: "",
  askedAt: "2026-11-30T10:00:00.000Z",
  run: null,
  ...changes,
});
const run = {
  id: "run",
  conversationId: "talk",
  talk: { title: "", isPinned: false },
  status: "completed",
  revision: 7,
  attempt: 1,
  question: "",
  pictures: [],
  answer: "",
  thinking: "",
  parts: [],
  proposals: [],
  usedCount: 0,
  isStopped: false,
  error: null,
  createdAt: "",
  endedAt: null,
} as const;
const file = (title: string, turns: readonly Turn[], hasEarlier = false) =>
  markdownOf({ id: "talk", title, lastAt: "", turns, hasEarlier }, words, "https://studio.test");

test("a file has questions as quotations, answers as written, times, and pictures as links", () => {
  const text = file("Winter *catalogue*", [
    turn({
      question: "Which dress?\n# and why",
      pictures: [{ id: "given", state: "there", thumbhash: null }],
      answer: "The **red** one.\n\nAnd this.",
      run: { ...run, parts: [{ type: "images", at: 16, imageIds: ["one", "two"] }] },
    }),
    turn({
      askedAt: "2026-12-01T11:00:00.000Z",
      run: { ...run, error: { code: "x", message: "It *failed*." } },
    }),
  ]);
  expect(text).toBe(`# Winter \\*catalogue\\*

## 2026-11-30T10:00

> Which dress?
> # and why

[Picture 1](https://studio.test/gallery?image=given)

The **red** one.

[Picture 2](https://studio.test/gallery?image=one) [Picture 3](https://studio.test/gallery?image=two)

And this.

## 2026-12-01T11:00

> Which dress?

*It \\*failed\\*.*
`);
});

test("a file says when it begins late, and has a title in any case", () => {
  expect(file("", [], true)).toBe("# Untitled\n\n*Earlier ones are missing.*\n");
});

test.each([
  ["Which red dress?", "Which red dress.md"],
  ['a/b\\c:d*e?f"g<h>i|j\nk', "a b c d e f g h i j k.md"],
  ["../../etc/passwd", "etc passwd.md"],
  ["...", "talk.md"],
  ["Рокля от лен 連衣裙", "Рокля от лен 連衣裙.md"],
  ["👗".repeat(100), `${"👗".repeat(80)}.md`],
])("the name of a file is one on each system: %j", (title, name) => {
  expect(fileNameOf(title)).toBe(name);
});
