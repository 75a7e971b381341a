import { startLlm, type LlmReply, textOf } from "@atelier/testing/llm";
import { createTestServices, type TestServices } from "@atelier/testing/services";
import { eq } from "drizzle-orm";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { schema } from "../../db/index.ts";
import type { Services } from "../../services.ts";
import { ask } from "../ask.ts";
import { addSpeaker } from "../import-talks.ts";
import { addMemory } from "../memories.ts";
import { activatePrompt, addPrompt } from "../prompts.ts";
import { analyze } from "./analyze.ts";

const llm = await startLlm();
let fixture: TestServices;
let services: Services;
beforeAll(async () => {
  fixture = await createTestServices({ env: llm.env, config: { assistant: { retryDelayS: 0.01 } } });
  ({ services } = fixture);
});
afterAll(async () => {
  await fixture.close();
  await llm.close();
});

let ownerId = "";
beforeEach(async () => {
  ownerId = await addSpeaker(services.db, "Ann");
});

/** Analyzes a question; the model gives these replies one after the other, the last one again and again. */
async function analyzeWith(replies: readonly LlmReply[], text = "Which red dress did I try in May?") {
  const from = llm.requests.length;
  llm.answer = () => replies[Math.min(llm.requests.length - from, replies.length) - 1] ?? {};
  const { runId } = await ask(services, { ownerId, text });
  const { assistantRuns } = schema;
  const [run] = await services.db.select().from(assistantRuns).where(eq(assistantRuns.id, runId));
  if (!run) throw new Error("no run");
  const analysis = await analyze(services, run, new AbortController().signal);
  return { analysis, requests: llm.requests.slice(from) };
}

const found = {
  needsContext: true,
  contextType: "memory",
  timeScope: { from: "2026-05-01T00:00:00Z", to: "the end of May" },
  searchKeywords: ["red dress", "x".repeat(101)],
};
const reply = (analysis: object): LlmReply => ({ text: JSON.stringify(analysis) });

test("B4 the active prompt looks through the owner's memory alone; what makes no sense in the answer is left out", async () => {
  const version = await addPrompt(services, {
    role: "analyzer",
    text: "Canary prompt",
    note: "",
    authorId: ownerId,
  });
  await activatePrompt(services, { role: "analyzer", version });
  const stranger = await addSpeaker(services.db, "Bob");
  const own = await addMemory(services, { ownerId, text: "Tried a red dress in May." });
  const other = await addMemory(services, { ownerId: stranger, text: "Bob's secret red dress." });
  const { analysis, requests } = await analyzeWith([reply({ ...found, contextFound: [own.id, other.id] })]);
  expect(analysis).toEqual({
    ...found,
    timeScope: { from: "2026-05-01", to: null },
    searchKeywords: ["red dress"],
    contextFound: [own.id],
    isByRule: false,
  });
  expect(requests).toHaveLength(1);
  const sent = requests.flatMap(({ messages }) => messages.map(textOf)).join("\n");
  expect(sent).toMatch(/Canary prompt[^]*Tried a red dress in May/);
  expect(sent).not.toContain("Bob's secret");
});

test("B4 B9 an answer that is no such JSON is asked for once more", async () => {
  const { analysis, requests } = await analyzeWith([
    { text: "Sure! The user wants" },
    reply({ ...found, contextFound: [] }),
  ]);
  expect(requests).toHaveLength(2);
  expect(analysis).toMatchObject({ contextType: "memory", isByRule: false });
});

test("B4 B9 after a second one rules decide with the words of the question", async () => {
  const { analysis, requests } = await analyzeWith(
    [reply({ needsContext: "perhaps" })],
    "Red dress, red shoes",
  );
  expect(requests).toHaveLength(2);
  expect(analysis).toEqual({
    needsContext: true,
    contextType: "both",
    timeScope: null,
    searchKeywords: ["red", "dress", "shoes"],
    contextFound: [],
    isByRule: true,
  });
});
