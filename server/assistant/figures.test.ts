import { createTestServices, type TestServices } from "@atelier/testing/services";
import { sql } from "drizzle-orm";
import { afterAll, beforeAll, expect, test } from "vitest";
import { schema } from "../db/index.ts";
import { newId } from "../platform/index.ts";
import { ask } from "./ask.ts";
import { type AssistantFigures, readFigures } from "./figures.ts";
import { addSpeaker } from "./import-talks.ts";

let fixture: TestServices;
let ownerId = "";
beforeAll(async () => {
  fixture = await createTestServices({ config: { assistant: { openRuns: 100 } } });
  ownerId = await addSpeaker(fixture.services.db, "Ann");
});
afterAll(() => fixture.close());

const statuses = ["new", "analyzing", "analyzed", "assembling", "ready", "responding", "completed"] as const;

/** A question that ended some time ago, with the milliseconds from each status to the next. */
async function addQuestion(waitsMs: readonly number[], { hasMemory = false, endedMsAgo = 60_000 } = {}) {
  const { db } = fixture.services;
  const { runId } = await ask(fixture.services, { ownerId, text: "What do I like?" });
  const used = hasMemory ? [{ kind: "memory", id: newId(), score: 1 }] : [];
  const context = JSON.stringify({ used, tokens: { total: hasMemory ? 300 : 100, memory: 0 } });
  for (const status of statuses.slice(1))
    await db.execute(sql`
      update assistant_runs set status = ${status}, revision = revision + 1, context = ${context}::jsonb,
        ended_at = case when ${status} = 'completed' then now() end
      where id = ${runId}`);
  const whole = waitsMs.reduce((sum, ms) => sum + ms, 0);
  // One clock for all: the statements take their time, too.
  const nowMs = Date.now();
  await db.execute(
    sql`update assistant_runs set ended_at = ${new Date(nowMs - endedMsAgo).toISOString()}::timestamptz where id = ${runId}`,
  );
  let passedMs = 0;
  for (const [at] of statuses.entries()) {
    await db.execute(sql`
      update assistant_run_events set at = ${new Date(nowMs - endedMsAgo - whole + passedMs).toISOString()}::timestamptz
      where run_id = ${runId} and revision = ${at + 1}`);
    passedMs += waitsMs[at] ?? 0;
  }
}

const stageOf = ({ stages }: AssistantFigures, name: string) => stages.find(({ stage }) => stage === name);

test("B11 without a run no stage has a time, and none is over its budget", async () => {
  const { stages, withContext, backlog } = await readFigures(fixture.services, { hours: 1 });
  expect(stages.map(({ stage, runs, p95Ms, isOverBudget }) => [stage, runs, p95Ms, isOverBudget])).toEqual(
    ["start", "analyzer", "assembler", "responder", "whole"].map((stage) => [stage, 0, null, false]),
  );
  expect([withContext, backlog]).toEqual([null, 0]);
});

test("B10 B11 stages are timed from status to status; the one above its budget is marked, an old run is not counted", async () => {
  // new, analyzing, analyzed, assembling, ready, responding
  await addQuestion([5, 4_000, 20, 100, 30, 2_000], { hasMemory: true });
  await addQuestion([5, 4_000, 20, 100, 30, 2_000]);
  await addQuestion([900_000, 1, 1, 1, 1, 1], { endedMsAgo: 2 * 3_600_000 });
  await ask(fixture.services, { ownerId, text: "And now?" });
  const figures = await readFigures(fixture.services, { hours: 1 });
  const marks = figures.stages.map(({ stage, runs, isOverBudget }) => [stage, runs, isOverBudget]);
  expect(marks).toEqual([
    ["start", 2, false],
    ["analyzer", 2, true],
    ["assembler", 2, false],
    ["responder", 2, false],
    ["whole", 2, false],
  ]);
  for (const [name, ms] of [
    ["analyzer", 4_000],
    ["assembler", 100],
    ["responder", 2_000],
    ["whole", 6_155],
  ] as const)
    expect(stageOf(figures, name)?.p50Ms).toBe(ms);
  expect(figures).toMatchObject({
    completed: 2,
    failed: 0,
    backlog: 1,
    withContext: 0.5,
    meanContextTokens: 200,
  });
});

test("B10 calls are counted by stage and model, with repeats, limits, tokens and what they cost", async () => {
  const { db } = fixture.services;
  const call = { stage: "responder", try: 1, model: "openai/model-a", expectedUsd: 0.5 } as const;
  await db.insert(schema.modelCalls).values([
    { ...call, id: newId(), inputTokens: 100, outputTokens: 20, costUsd: 0.1 },
    { ...call, id: newId(), try: 2, errorClass: "rate_limited", costUsd: 0 },
    { ...call, id: newId(), try: 3, errorClass: "timeout" },
    {
      ...call,
      id: newId(),
      model: "local/model-b",
      expectedUsd: 0,
      errorClass: "cancelled",
      inputTokens: 7,
      outputTokens: 1,
      costUsd: 0,
    },
  ]);
  const { calls } = await readFigures(fixture.services, { hours: 1 });
  expect(calls).toEqual([
    expect.objectContaining({ model: "local/model-b", calls: 1, retries: 0, failures: 0, inputTokens: 7 }),
    {
      stage: "responder",
      model: "openai/model-a",
      calls: 3,
      retries: 2,
      rateLimited: 1,
      timeouts: 1,
      failures: 2,
      inputTokens: 100,
      outputTokens: 20,
      // A call whose cost is not known counts at the most that it can cost.
      usd: 0.6,
    },
  ]);
});
