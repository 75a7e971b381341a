import { createTestServices, type TestServices } from "@atelier/testing/services";
import { sql } from "drizzle-orm";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { schema } from "../db/index.ts";
import { newId } from "../platform/index.ts";
import { pruneTalks, storePart } from "./archive-log.ts";
import { ask } from "./ask.ts";
import { addSpeaker } from "./import-talks.ts";
import { listMemories } from "./memories.ts";

const dayMs = 86_400_000;
let fixture: TestServices;
let ownerId: string;
beforeAll(async () => {
  fixture = await createTestServices({
    config: { retention: { assistantRunsMs: 90 * dayMs, assistantLogMs: 400 * dayMs } },
  });
});
afterAll(() => fixture.close());
beforeEach(async () => {
  ownerId = await addSpeaker(fixture.services.db, "Ann");
});

const { assistantConversations, assistantMessages, assistantRuns } = schema;
const db = () => fixture.services.db;
const ago = (ms: number) => new Date(Date.now() - ms);
const minuteMs = 60_000;

async function addLine(at: Date, changes: { archivedAt?: Date } = {}) {
  const conversationId = newId();
  await db().insert(assistantConversations).values({ id: conversationId, ownerId, lastAt: at });
  const message = { id: newId(), conversationId, ownerId, role: "user" as const, text: "I like linen.", at };
  await db()
    .insert(assistantMessages)
    .values({ ...message, ...changes });
  return message;
}

const countOf = (table: typeof assistantRuns | typeof assistantMessages | typeof assistantConversations) =>
  db().$count(table, sql`owner_id = ${ownerId}`);

test("B11 an ended run stays until its time is over, and a run that never ended stays", async () => {
  for (const endedAt of [ago(90 * dayMs - minuteMs), ago(90 * dayMs + minuteMs), null]) {
    const { runId } = await ask(fixture.services, { ownerId, text: "What do I like?" });
    const status = endedAt ? "completed" : "new";
    await db().execute(sql`
      update assistant_runs set status = ${status}, revision = revision + 1, created_at = ${ago(91 * dayMs)}, ended_at = ${endedAt} where id = ${runId}`);
  }
  await pruneTalks(fixture.services);
  const rows = await db().execute<{ status: string }>(
    sql`select status from assistant_runs where owner_id = ${ownerId} order by status`,
  );
  expect(rows.map(({ status }) => status)).toEqual(["completed", "new"]);
});

test("B11 of the log only archived lines go, after their time; their memory stays, an empty talk goes with its last line", async () => {
  const archivedAt = ago(399 * dayMs);
  const young = await addLine(ago(400 * dayMs - minuteMs), { archivedAt });
  const old = await addLine(ago(400 * dayMs + minuteMs));
  const unarchived = await addLine(ago(400 * dayMs + minuteMs));
  const { conversationId } = old;
  const part = { ownerId, conversationId, apiKeyId: null, messages: [old], jobs: [] };
  expect(await storePart(fixture.services, part, { summary: "Likes linen.", tags: [] })).toBe(true);
  await pruneTalks(fixture.services);
  const left = await db()
    .select({ id: assistantMessages.id })
    .from(assistantMessages)
    .where(sql`owner_id = ${ownerId}`);
  expect(left.map(({ id }) => id).toSorted()).toEqual([young.id, unarchived.id].toSorted());
  expect(await countOf(assistantConversations)).toBe(2);
  const { items } = await listMemories(fixture.services, { ownerId });
  expect(items.map(({ summary }) => summary)).toEqual(["Likes linen."]);
});
