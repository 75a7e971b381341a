// @module-tag all
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { afterEach, expect, test, vi } from "vitest";
import { areaUnder, recallEval } from "./recall-eval.ts";

afterEach(() => {
  vi.restoreAllMocks();
});

const day = (at: number) => new Date(Date.UTC(2026, 3, 1 + at)).toISOString();
const said = [
  "I keep bees behind the barn.",
  "My sister plays the cello.",
  "The car is green.",
  "We sold the boat.",
];
const messages = said.map((text, at) => ({
  type: "message",
  conversation: "one",
  session: `${at}`,
  id: `m${at}`,
  at: day(at),
  speaker: "Ann",
  text,
}));
const question = (id: string, text: string, evidence: readonly string[]) => ({
  type: "question",
  conversation: "one",
  id,
  text,
  evidence,
});

/** What the command prints of a file with these questions. */
async function evaluate(questions: readonly object[]): Promise<Record<string, unknown>> {
  const folder = await mkdtemp(path.join(os.tmpdir(), "atelier-eval-"));
  const file = path.join(folder, "talks.jsonl");
  await writeFile(file, [...messages, ...questions].map((line) => JSON.stringify(line)).join("\n"));
  const print = vi.spyOn(console, "log").mockImplementation(() => undefined);
  expect(await recallEval([file])).toBe(0);
  await rm(folder, { recursive: true });
  return JSON.parse(String(print.mock.lastCall?.[0]));
}

test("M4 questions that nothing answers are told from others by the best score, and count in no other figure", async () => {
  const known = [question("a", "Who keeps bees?", ["m0"]), question("b", "Who plays the cello?", ["m1"])];
  const absent = [
    question("c", "Who flies a helicopter?", []),
    question("d", "Which dentist has a car?", []),
  ];
  const unknown = question("e", "Who sold the boat?", ["not in this file"]);
  const figures = await evaluate([...known, ...absent, unknown]);
  expect(figures).toMatchObject({
    questions: 2,
    message: { "any@5": 100 },
    abstention: { absent: 2, auroc: 1 },
  });
});

test("M4 the area counts how often the higher one wins, and equal ones half", () => {
  expect(areaUnder([3, 1], [2, 1])).toBe((1 + 1 + 0 + 0.5) / 4);
});
