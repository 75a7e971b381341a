import { expect, test } from "vitest";
import type { RecallHit } from "../recall/recall.ts";
import { fitMemory } from "./assemble.ts";
import { cutToTokens, loadTokenCounter } from "./tokens.ts";

const hit = (text: string, day: number, score: number): RecallHit => {
  const at = new Date(Date.UTC(2026, 4, day));
  return { kind: "memory", id: `memory ${day}`, conversationId: null, text, from: at, to: at, score };
};

test("B5 the best memories that fit are taken and stand in the order of their times", async () => {
  const count = await loadTokenCounter();
  const hits = [hit("I like linen.", 9, 3), hit("My size is M.", 2, 2), hit("A cat. ".repeat(200), 5, 1)];
  const fitted = fitMemory(count, hits, { maxTokens: 60, timeZone: "UTC" });
  const lines = fitted.text.split("\n");
  expect(lines.map((line) => line.slice(0, 14))).toEqual([
    "- [2026-05-02]",
    "- [2026-05-05]",
    "- [2026-05-09]",
  ]);
  expect(fitted.isCut).toBe(true);
  expect(count(fitted.text)).toBeLessThanOrEqual(60);
  expect(fitMemory(count, hits.slice(0, 2), { maxTokens: 60, timeZone: "UTC" })).toMatchObject({
    isCut: false,
  });
  expect(fitMemory(count, hits, { maxTokens: 0, timeZone: "UTC" })).toEqual({
    text: "",
    used: [],
    isCut: true,
  });
});

test("B5 a text is cut at a word and within its tokens, in any script", async () => {
  const count = await loadTokenCounter();
  for (const text of ["one two three four ".repeat(50), "красное платье ".repeat(50), "👗👠".repeat(80)]) {
    const cut = cutToTokens(count, text, 20);
    expect(count(cut)).toBeLessThanOrEqual(20);
    expect(cut.endsWith("…")).toBe(true);
    expect(cut.isWellFormed()).toBe(true);
  }
  expect(cutToTokens(count, "short", 20)).toBe("short");
  expect(cutToTokens(count, "a long text that does not fit at all here", 3)).toBe("");
  expect(count("<|endoftext|>")).toBeGreaterThan(1);
});
