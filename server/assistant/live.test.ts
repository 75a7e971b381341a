import { addOwner } from "@atelier/testing/jobs";
import { createTestServices, type TestServices } from "@atelier/testing/services";
import { sql } from "drizzle-orm";
import { afterAll, afterEach, beforeAll, beforeEach, expect, test, vi } from "vitest";
import { schema } from "../db/index.ts";
import { newId } from "../platform/index.ts";
import { ask } from "./ask.ts";
import { questionSource } from "./live.ts";
import { decline } from "./proposals.ts";

let fixture: TestServices;
let ownerId: string;
beforeAll(async () => void (fixture = await createTestServices()));
afterAll(() => fixture.close());
beforeEach(async () => {
  ({ userId: ownerId } = await addOwner(fixture.services));
});
afterEach(() => void vi.useRealTimers());

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;

/** A question that ended so long ago, by the clock of the database. */
async function addEnded(agoMs: number): Promise<string> {
  const { services } = fixture;
  const { runId } = await ask(services, { ownerId, text: "What do I like?" });
  await services.db.execute(sql`update assistant_runs set status = 'completed', revision = revision + 1,
    ended_at = clock_timestamp() - ${agoMs} * interval '1 millisecond' where id = ${runId}`);
  return runId;
}

const ago = (ms: number) => new Date(Date.now() - ms);

/** The questions that a stream begins with. */
async function first(since: Date | null): Promise<string[]> {
  const rows = await questionSource.readFirst(fixture.services, { ownerId, since });
  return rows.map(({ mark }) => mark.id);
}

test.each([25 * minuteMs, 3 * hourMs, 100 * hourMs])(
  "D10 a page that slept over the end of an answer, %d ms ago, is told of it when it comes back",
  async (agoMs) => {
    const ended = await addEnded(agoMs);
    const before = await addEnded(agoMs + hourMs);
    expect(await first(ago(agoMs + minuteMs))).toEqual([ended]);
    expect(await first(ago(agoMs + 2 * hourMs))).toEqual([ended, before]);
    expect(await first(null)).toEqual([]);
    expect(await first(ago(minuteMs))).toEqual([]);
  },
);

test("D10 a stream begins with the open questions and those of the last minutes, also after a short gap", async () => {
  const ended = await addEnded(5 * minuteMs);
  const { runId: open } = await ask(fixture.services, { ownerId, text: "And now?" });
  for (const since of [null, ago(0), ago(minuteMs)]) expect(await first(since)).toEqual([ended, open]);
});

test("D10 of very many that ended meanwhile a stream begins with the newest", async () => {
  const known = await addEnded(hourMs);
  const { db } = fixture.services;
  await db.execute(sql`insert into assistant_runs (id, owner_id, conversation_id, question_id, status, created_at, ended_at)
    select gen_random_uuid(), owner_id, conversation_id, question_id, status, created_at + i * interval '1 ms', ended_at
    from assistant_runs, generate_series(1, 300) i where id = ${known}`);
  const found = await first(ago(2 * hourMs));
  expect(found).toHaveLength(200);
  expect(found).not.toContain(known);
  const [newest] = await db.execute<{ id: string }>(
    sql`select id from assistant_runs where owner_id = ${ownerId} order by created_at desc limit 1`,
  );
  expect(found.at(-1)).toBe(newest?.id);
});

test("D10 a page that slept is told of a proposal that was decided elsewhere, also of an older question", async () => {
  const { services } = fixture;
  const runId = await addEnded(20 * hourMs);
  const id = newId();
  await services.db
    .insert(schema.proposals)
    .values({ id, runId, ownerId, toolCallId: id, request: {}, requestSha256: id, title: "It" });
  const since = ago(minuteMs);
  expect(await first(since)).toEqual([]);
  await decline(services, { id, ownerId });
  expect(await first(since)).toEqual([runId]);
});

test.each([-1, 1])(
  "D10 the clock of the database decides, also where that of the pages is a day off: %d",
  async (days) => {
    const ended = await addEnded(minuteMs);
    await addEnded(2 * hourMs);
    vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + days * 24 * hourMs });
    expect(await first(null)).toEqual([ended]);
    const marks = await questionSource.readMarks(fixture.services, { ownerIds: [ownerId], withinMs: 2_000 });
    expect(marks.map(({ id }) => id)).toEqual([ended]);
  },
);

test("D10 a poll after a long outage of the database finds what ended in it", async () => {
  const ended = await addEnded(25 * minuteMs);
  const read = (withinMs: number) =>
    questionSource.readMarks(fixture.services, { ownerIds: [ownerId], withinMs });
  expect(await read(2_000)).toEqual([]);
  expect((await read(hourMs)).map(({ id }) => id)).toEqual([ended]);
});
