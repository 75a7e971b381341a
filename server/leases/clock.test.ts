import { addNode, addOwner, insertJob } from "@atelier/testing/jobs";
import { captureLog, createTestServices, type TestServices } from "@atelier/testing/services";
import { eq, sql } from "drizzle-orm";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { missedSince, schema } from "../db/index.ts";
import { newId } from "../platform/index.ts";
import { watchClock } from "./clock.ts";

const { clockStretches, deliveries, jobs, nodes, providerAttempts, serverLeases, telegramJobs } = schema;

let opened: TestServices;
beforeAll(async () => {
  opened = await createTestServices();
});
afterAll(() => opened.close());
beforeEach(() => opened.services.db.delete(clockStretches));

const at = (hours: number) => sql`clock_timestamp() + ${hours} * interval '1 hour'`;

/** As if the clock of the database were set ahead by so many hours; back where negative. */
async function setClock(aheadHours: number): Promise<void> {
  const shift = sql`${-aheadHours} * interval '1 hour'`;
  await opened.services.db.execute(
    sql`update ${clockStretches} set began_at = began_at + ${shift}, seen_at = seen_at + ${shift}`,
  );
}

/** Hours that were missed since so many hours ago. */
async function missed(hoursAgo: number): Promise<number> {
  const [row] = await opened.services.db.execute<{ hours: number }>(
    sql`select round(extract(epoch from ${missedSince(at(-hoursAgo))}) / 3600)::int as hours`,
  );
  return row?.hours ?? Number.NaN;
}

test("what no worker saw pass is missed from that moment on, by what was before alone", async () => {
  const { services } = opened;
  expect(await missed(50)).toBe(0);
  await watchClock(services);
  expect(await missed(50)).toBe(0);
  await setClock(40);
  // Nobody has looked yet.
  expect(await missed(41)).toBe(40);
  // What began since misses nothing of it.
  expect(await missed(0)).toBe(0);
  await watchClock(services);
  await watchClock(services);
  expect(await missed(41)).toBe(40);
  await setClock(2);
  await watchClock(services);
  expect(await services.db.$count(clockStretches)).toBe(2);
  expect([await missed(43), await missed(2), await missed(1), await missed(0)]).toEqual([40, 2, 1, 0]);
  // A longer one stands for those before it.
  await setClock(60);
  await watchClock(services);
  expect([await missed(100), await missed(60), await missed(1)]).toEqual([60, 60, 1]);
  expect(await services.db.$count(clockStretches)).toBe(1);
});

test("a clock that goes on as it should misses nothing, also with seconds between two looks", async () => {
  const { services } = opened;
  await watchClock(services);
  await services.db
    .update(clockStretches)
    .set({ beganAt: at(-100), seenAt: sql`now() - interval '4 minutes'` });
  expect(await missed(101)).toBe(0);
  await watchClock(services);
  expect(await missed(101)).toBe(0);
  expect(await services.db.$count(clockStretches)).toBe(1);
});

test("a clock that ran ahead and was set back has missed nothing", async () => {
  const { services } = opened;
  await watchClock(services);
  await setClock(1_000);
  await watchClock(services);
  await setClock(-1_000);
  await watchClock(services);
  expect([await missed(1), await missed(2_000)]).toEqual([0, 0]);
  // Also when nobody saw how far it was set.
  await setClock(-1_000);
  await watchClock(services);
  await setClock(900);
  await watchClock(services);
  expect(await missed(901)).toBe(900);
});

test("what waits goes on at once, or after its pause, when the clock is set back by hours", async () => {
  const { services } = opened;
  const { log, lines } = captureLog();
  const owner = await addOwner(services);
  const nodeId = await addNode(services);
  const jobId = await insertJob(services, { owner });
  await watchClock(services);
  // Nine hours ahead when they were written.
  const [soon, later] = [at(9), at(9.5)];
  await services.db.update(jobs).set({ notBefore: later }).where(eq(jobs.id, jobId));
  await services.db
    .insert(serverLeases)
    .values({ url: "http://one", nodeId, jobId, token: newId(), freeAt: soon });
  await services.db
    .insert(serverLeases)
    .values({ url: "http://two", nodeId, jobId, token: newId(), takenAt: soon });
  await services.db.update(nodes).set({ state: "lost", endedAt: soon }).where(eq(nodes.id, nodeId));
  const delivery = {
    id: newId(),
    jobId,
    ownerId: owner.userId,
    channel: "webhook",
    target: "t",
    event: "job.completed",
    nextAttemptAt: later,
    deliveringAt: soon,
  } as const;
  await services.db.insert(deliveries).values(delivery);
  await services.db.insert(telegramJobs).values({ jobId, chatId: "1", notBefore: soon });
  const attempt = {
    id: newId(),
    ownerId: owner.userId,
    jobId,
    provider: "google",
    keyId: "k",
    model: "m",
    endpoint: "e",
    token: newId(),
    state: "accepted",
    createdAt: soon,
    acceptedAt: soon,
    nextPollAt: later,
    deadlineAt: at(10),
  } as const;
  await services.db.insert(providerAttempts).values(attempt);
  await services.db.update(clockStretches).set({ seenAt: at(9) });
  await watchClock({ ...services, log });
  const ahead = async (table: string, column: string) => {
    const rows = await services.db.execute<{ hours: number }>(sql`
      select round(extract(epoch from ${sql.identifier(column)} - clock_timestamp()) / 360)::int / 10.0::float8 as hours
      from ${sql.identifier(table)} where ${sql.identifier(column)} is not null order by 1`);
    return rows.map(({ hours }) => hours);
  };
  expect({
    job: await ahead("jobs", "not_before"),
    free: await ahead("server_leases", "free_at"),
    taken: await ahead("server_leases", "taken_at"),
    ended: await ahead("nodes", "ended_at"),
    next: await ahead("deliveries", "next_attempt_at"),
    sending: await ahead("deliveries", "delivering_at"),
    note: await ahead("telegram_jobs", "not_before"),
    begun: await ahead("provider_attempts", "created_at"),
    poll: await ahead("provider_attempts", "next_poll_at"),
    deadline: await ahead("provider_attempts", "deadline_at"),
  }).toEqual({
    job: [0.5],
    free: [0],
    taken: [0, 0],
    ended: [0],
    next: [0.5],
    sending: [0],
    note: [0],
    begun: [0],
    poll: [0.5],
    deadline: [1],
  });
  expect(lines.filter((line) => line.includes("was set back"))).toHaveLength(1);
  // Once: what waits now keeps its time.
  await watchClock({ ...services, log });
  expect(await ahead("jobs", "not_before")).toEqual([0.5]);
  expect(lines).toHaveLength(1);
});

test("a deadline is moved once, also where a clock that was set back is looked at again after a failure", async () => {
  const { services } = opened;
  const { db } = services;
  const owner = await addOwner(services);
  const jobId = await insertJob(services, { owner });
  await db
    .update(jobs)
    .set({ notBefore: at(9.5) })
    .where(eq(jobs.id, jobId));
  const id = newId();
  await db.insert(providerAttempts).values({
    id,
    ownerId: owner.userId,
    jobId,
    provider: "google",
    keyId: "k",
    model: "m",
    endpoint: "e",
    token: newId(),
    state: "accepted",
    createdAt: at(9),
    acceptedAt: at(9),
    nextPollAt: at(9),
    deadlineAt: at(10),
  });
  await watchClock(services);
  await db.update(clockStretches).set({ seenAt: at(9) });
  await db.execute(
    sql`alter table jobs add constraint unmoved check (not_before > now() + interval '5 hours') not valid`,
  );
  await expect(watchClock(services)).rejects.toThrow("Failed query");
  await db.execute(sql`alter table jobs drop constraint unmoved`);
  await watchClock(services);
  const rows = await db.execute(sql`
    select round(extract(epoch from deadline_at - clock_timestamp()) / 360)::int / 10.0::float8 as deadline,
      round(extract(epoch from created_at - clock_timestamp()) / 360)::int / 10.0::float8 as begun
    from provider_attempts where id = ${id}`);
  expect([...rows]).toEqual([{ deadline: 1, begun: 0 }]);
});
