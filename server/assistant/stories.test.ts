import { createTestServices, type TestServices } from "@atelier/testing/services";
import { sql } from "drizzle-orm";
import { afterAll, beforeAll, expect, test } from "vitest";
import { schema } from "../db/index.ts";
import { newId } from "../platform/index.ts";
import { ask } from "./ask.ts";
import { addSpeaker } from "./import-talks.ts";
import { listQuestions, readQuestionStory } from "./stories.ts";

let fixture: TestServices;
let ownerId = "";
beforeAll(async () => {
  fixture = await createTestServices({ config: { assistant: { openRuns: 100 } } });
  ownerId = await addSpeaker(fixture.services.db, "Ann");
});
afterAll(() => fixture.close());

const secret = "A canary that only its user may read";

async function addQuestion(status?: "completed" | "failed"): Promise<string> {
  const { runId } = await ask(fixture.services, { ownerId, text: secret });
  const context = JSON.stringify({
    used: [{ kind: "memory", id: newId(), score: 1 }],
    tokens: { total: 90, memory: 30 },
  });
  const analysis = JSON.stringify({ contextType: "memory", isByRule: true, searchKeywords: ["canary"] });
  if (status)
    await fixture.services.db.execute(sql`
      update assistant_runs set status = ${status}, revision = revision + 1, ended_at = clock_timestamp(), answer = ${secret},
        context = ${context}::jsonb, analysis = ${analysis}::jsonb, error_code = ${status === "failed" ? "timeout" : null}
      where id = ${runId}`);
  return runId;
}

test("B10 admins see what a run did and cost, step by step, and no word of the talk", async () => {
  const id = await addQuestion("failed");
  const call = { runId: id, ownerId, stage: "responder", model: "openai/model-a", expectedUsd: 0.5 } as const;
  await fixture.services.db.insert(schema.modelCalls).values([
    { ...call, id: newId(), try: 1, errorClass: "timeout" },
    { ...call, id: newId(), try: 2, inputTokens: 90, outputTokens: 7, costUsd: 0.25, endedAt: new Date() },
  ]);
  const story = await readQuestionStory(fixture.services, id);
  expect(story).toMatchObject({
    id,
    status: "failed",
    errorCode: "timeout",
    calls: 2,
    usd: 0.75,
    losses: 0,
    contextType: "memory",
    isByRule: true,
    memoriesUsed: 1,
    contextTokens: 90,
    memoryTokens: 30,
  });
  expect(story.events.map(({ status, errorCode }) => [status, errorCode])).toEqual([
    ["new", null],
    ["failed", "timeout"],
  ]);
  expect(
    story.modelCalls.map(({ try: at, outputTokens, errorClass }) => [at, outputTokens, errorClass]),
  ).toEqual([
    [1, null, "timeout"],
    [2, 7, null],
  ]);
  const all = JSON.stringify([story, await listQuestions(fixture.services, {})]);
  expect(all).not.toContain("canary");
});

test("B10 runs come newest first, by page and by state", async () => {
  const ids = [];
  for (let number = 0; number < 25; number += 1)
    ids.push(await addQuestion(number < 5 ? "completed" : undefined));
  const first = await listQuestions(fixture.services, {});
  expect(first.items.map(({ id }) => id)).toEqual(ids.toReversed().slice(0, 20));
  const rest = await listQuestions(fixture.services, { cursor: first.nextCursor ?? "" });
  expect(rest.items.slice(0, 5).map(({ id }) => id)).toEqual(ids.slice(0, 5).toReversed());
  expect(rest.nextCursor).toBeNull();
  const completed = await listQuestions(fixture.services, { state: "completed" });
  expect(completed.items.map(({ id }) => id)).toEqual(ids.slice(0, 5).toReversed());
  const open = await listQuestions(fixture.services, { state: "open" });
  expect(open.items).toHaveLength(20);
  expect(open.items.every(({ status }) => status === "new")).toBe(true);
});

test("an unknown run is not found", async () => {
  for (const id of ["x", newId()])
    await expect(readQuestionStory(fixture.services, id)).rejects.toMatchObject({ code: "not_found" });
});
