import { expect, test } from "vitest";
import { lorasIn, piecesOf } from "./prompt-marks.ts";

const lists = new Set(["colour", "hair-colour"]);
const marked = (text: string, more: object = {}) => {
  const pieces = piecesOf(text, { lists, isList: false, ...more });
  expect(pieces.map((piece) => piece.text).join("")).toBe(text);
  return pieces.flatMap(({ text: own, kind }) => (kind === null ? [] : [`${kind} ${own}`]));
};

test("choices, lists and weights stand out, and what is escaped or no sign does not", () => {
  expect(marked("a {2::red|blue} fox in __Colour__, (film:1.2), a_b | c")).toEqual([
    "choice {",
    "choice 2::",
    "choice |",
    "choice }",
    "list __Colour__",
    "weight (film:1.2)",
  ]);
  expect(marked(String.raw`\{a\|b\} \__colour__ 3::1 (a) ____`)).toEqual([]);
});

test("what is not closed, closes nothing or names nothing is a fault", () => {
  expect(marked("{a|{b} c")).toEqual(["fault {", "choice |", "choice {", "choice }"]);
  expect(marked("a} __nothing__ <lora:fur:0.8>")).toEqual([
    "fault }",
    "fault __nothing__",
    "fault <lora:fur:0.8>",
  ]);
  expect(marked("__nothing__", { lists: null })).toEqual(["list __nothing__"]);
});

test("each line of a list of prompts is read by itself, and a long text is left plain", () => {
  expect(marked("{a\nb}", { isList: true })).toEqual(["fault {", "fault }"]);
  expect(marked("{a\nb}")).toEqual(["choice {", "choice }"]);
  expect(marked("{".repeat(20_001))).toEqual([]);
});

test("what programs write for LoRAs is read with its weight", () => {
  expect(lorasIn("a fox <lora:style/fur:0.8>, <lora:ink> <lora:x:-1:0.5> <lora>")).toEqual([
    { whole: "<lora:style/fur:0.8>", name: "style/fur", weight: 0.8 },
    { whole: "<lora:ink>", name: "ink", weight: 1 },
    { whole: "<lora:x:-1:0.5>", name: "x", weight: -1 },
  ]);
  expect(lorasIn("<lora:a:.8><lora:b:+0.8><lora:c:lbw=MIDD>").map(({ weight }) => weight)).toEqual([
    0.8, 0.8, 1,
  ]);
  expect(lorasIn("<lora:a".repeat(2_000))).toEqual([]);
});
