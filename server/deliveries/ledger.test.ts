import { eq, sql } from "drizzle-orm";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { schema } from "@atelier/server/db";
import { addEndpoint, oweCompleted, readDelivery } from "@atelier/testing/deliveries";
import { addOwner, type TestOwner } from "@atelier/testing/jobs";
import { captureLog, createTestServices, type TestServices } from "@atelier/testing/services";
import type { Services } from "../services.ts";
import { type Channel, DeliveryError } from "./channel.ts";
import { deliver, waitAfter } from "./deliver.ts";
import { acquire, findOwedOf, markDelivered, oweOnce, redeliver, release } from "./ledger.ts";
import { listDeliveries, listDeliveriesSchema, readAttempts } from "./log.ts";

const { deliveries } = schema;
const never = new AbortController().signal;

let opened: TestServices;
let services: Services;
let owner: TestOwner;
beforeAll(async () => {
  opened = await createTestServices();
  ({ services } = opened);
  owner = await addOwner(services);
  await addEndpoint(services, owner, "https://hooks.example.test/");
});
afterAll(() => opened.close());

/** A completed job with one delivery. */
async function owed(of = owner): Promise<{ id: string; jobId: string }> {
  const jobId = await oweCompleted(services, of);
  return { id: (await readDelivery(services, jobId)).id, jobId };
}

const change = (id: string, set: Partial<Record<keyof typeof deliveries.$inferInsert, unknown>>) =>
  services.db
    .update(deliveries)
    .set(set as object)
    .where(eq(deliveries.id, id));

const secondsAgo = (seconds: number) => sql`clock_timestamp() - ${seconds} * interval '1 second'`;

function channelOf(send: Channel["send"]): Channel[] {
  return [{ name: "webhook", send }];
}

test("C1 F11 of twenty racers exactly one gets the lock", async () => {
  const { id } = await owed();
  const answers = await Promise.all(Array.from({ length: 20 }, () => acquire(services, id)));
  expect(answers.filter(Boolean)).toHaveLength(1);
  expect(await readDelivery(services, (await owed()).jobId)).toMatchObject({
    attempts: 0,
    deliveringAt: null,
  });
});

test("C1 C4 F11 a lock of 4:30 is kept and one of 5:01 is taken over; the old holder writes nothing then", async () => {
  const { id, jobId } = await owed();
  const first = await acquire(services, id);
  if (!first) throw new Error("no lock");
  await change(id, { deliveringAt: secondsAgo(270) });
  expect(await acquire(services, id)).toBeNull();
  await change(id, { deliveringAt: secondsAgo(301) });
  const second = await acquire(services, id);
  if (!second) throw new Error("the lock was not taken over");
  expect(await markDelivered(services, first, "late")).toBe(false);
  expect(await release(services, first, { error: "late", status: null, waitMs: 0, isOurs: false })).toBe(
    false,
  );
  expect(await readDelivery(services, jobId)).toMatchObject({
    deliveredAt: null,
    attempts: 2,
    lastError: null,
  });
  expect(await markDelivered(services, second, "second")).toBe(true);
  expect(await readDelivery(services, jobId)).toMatchObject({ externalId: "second", deliveringAt: null });
  expect(await readAttempts(services, { id, ownerId: owner.userId })).toMatchObject([
    { number: 1, outcome: "lost" },
    { number: 2, outcome: "delivered" },
  ]);
});

test("C1 R1 a lock whose answer a restart of the database cut is held by the process that asked for it, as one attempt", async () => {
  const { id } = await owed();
  const { db } = services;
  const real = db.execute.bind(db);
  const spy = vi.spyOn(db, "execute").mockImplementationOnce((async (query: never) => {
    await real(query);
    throw Object.assign(new Error("read ECONNRESET"), { code: "ECONNRESET" });
  }) as never);
  try {
    expect(await acquire(services, id)).toMatchObject({ attempt: 1, attemptOfRound: 1 });
  } finally {
    spy.mockRestore();
  }
  expect(await readAttempts(services, { id, ownerId: owner.userId })).toHaveLength(1);
  expect(await acquire(services, id)).toBeNull();
});

test("C1 what a job owes is found by its id", async () => {
  const { id, jobId } = await owed();
  await owed();
  expect((await findOwedOf(services, jobId)).map((due) => due.id)).toEqual([id]);
});

test("C2 a failed send releases the lock, and only a send that succeeded is recorded as delivered", async () => {
  const { id, jobId } = await owed();
  const seen: unknown[] = [];
  const send: Channel["send"] = async () => {
    seen.push((await readDelivery(services, jobId)).deliveredAt);
    if (seen.length === 1) throw new DeliveryError("retry", "Busy.", { status: 503 });
    return { externalId: "message" };
  };
  const input = { id, via: "callback", channels: channelOf(send), signal: never } as const;
  expect(await deliver(services, input)).toBe("retry");
  expect(await readDelivery(services, jobId)).toMatchObject({ deliveringAt: null, lastError: "Busy." });
  expect(await deliver(services, input)).toBe("delivering");
  await change(id, { nextAttemptAt: secondsAgo(0) });
  expect(await deliver(services, input)).toBe("delivered");
  expect(seen).toEqual([null, null]);
  expect(await readDelivery(services, jobId)).toMatchObject({ externalId: "message", lastError: null });
  expect(await readAttempts(services, { id, ownerId: null })).toMatchObject([
    { outcome: "failed", status: 503, error: "Busy." },
    { outcome: "delivered" },
  ]);
});

test("C2 a process that stops costs the receiver none of its attempts, and the next one sends at once", async () => {
  const other = await addOwner(services);
  await addEndpoint(services, other, "https://other.example.test/");
  const { id, jobId } = await owed(other);
  await change(id, { attempts: 9 });
  const stop = new AbortController();
  const hangs: Channel["send"] = () => {
    stop.abort();
    return new Promise(() => undefined);
  };
  const input = { id, via: "poll", channels: channelOf(hangs) } as const;
  // The last attempt of the round.
  expect(await deliver(services, { ...input, signal: stop.signal })).toBe("retry");
  expect(await readDelivery(services, jobId)).toMatchObject({ failedAt: null, attempts: 10, orderedAt: 1 });
  const channels = channelOf(() => Promise.reject(new DeliveryError("retry", "Busy.")));
  expect(await deliver(services, { id, via: "poll", channels, signal: never })).toBe("failed");
});

test("C1 the id of a delivery is that of its job, receiver and event, so that receivers recognise a repetition", async () => {
  const { id, jobId } = await owed();
  expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-8[0-9a-f]{3}-[0-9a-f]{12}$/);
  const before = await readDelivery(services, jobId);
  // As after a restore: the job runs again, and its end owes anew.
  await services.db.delete(deliveries).where(eq(deliveries.id, id));
  const { ownerId, channel, target, event } = before;
  await oweOnce(services.db, { jobId, ownerId, channel, target, event });
  expect((await readDelivery(services, jobId)).id).toBe(id);
});

test("C1 a channel that ignores its signal loses the lock in time", async () => {
  const short = { ...services.config, timing: { ...services.config.timing, deliverySendMs: 20 } };
  const { id, jobId } = await owed();
  const send: Channel["send"] = () => new Promise(() => undefined);
  const input = { id, via: "poll", channels: channelOf(send), signal: never } as const;
  expect(await deliver({ ...services, config: short }, input)).toBe("retry");
  expect(await readDelivery(services, jobId)).toMatchObject({
    deliveringAt: null,
    lastError: "The receiver did not answer in time.",
  });
});

test("C6 logs say who won and who skipped, and a late poll answers already_delivered", async () => {
  const { log, lines } = captureLog();
  const logged = { ...services, log };
  const { id, jobId } = await owed();
  const channels = channelOf(async () => ({ externalId: null }));
  const go = (via: "callback" | "poll") => deliver(logged, { id, via, channels, signal: never });
  expect(await go("callback")).toBe("delivered");
  expect(await go("callback")).toBe("already_delivered");
  expect(await go("poll")).toBe("already_delivered");
  await redeliver(services, { id, ownerId: owner.userId });
  expect(await go("poll")).toBe("delivered");
  const parsed = lines.map((line) => JSON.parse(line));
  expect(parsed.map(({ msg }) => msg)).toEqual([
    "DELIVER_LOCK_WIN",
    "MARK_DELIVERED",
    "DELIVER_LOCK_SKIP",
    "POLL_LOCK_SKIP",
    "POLL_LOCK_WIN",
    "MARK_DELIVERED",
  ]);
  for (const line of parsed) expect(line).toMatchObject({ jobId, correlationId: id });
});

test("C2 a delivery is tried ten times over days, later when the receiver says so, and then has failed", async () => {
  const { id, jobId } = await owed();
  const channels = channelOf(async () => {
    throw new DeliveryError("retry", "Down.");
  });
  const answers: string[] = [];
  for (let attempt = 1; attempt <= 10; attempt += 1) {
    await change(id, { nextAttemptAt: secondsAgo(0) });
    answers.push(await deliver(services, { id, via: "poll", channels, signal: never }));
  }
  expect(answers).toEqual([...Array.from({ length: 9 }, () => "retry"), "failed"]);
  expect((await readDelivery(services, jobId)).failedAt).not.toBeNull();
  const seconds = Array.from({ length: 10 }, (_, at) => waitAfter(at + 1, null, () => 0)).map(
    (waitMs) => waitMs && waitMs / 1_000,
  );
  expect(seconds).toEqual([5, 300, 1_800, 7_200, 18_000, 36_000, 50_400, 72_000, 86_400, null]);
  expect(waitAfter(1, 60_000, () => 0)).toBe(60_000);
  expect(waitAfter(1, 90_000_000, () => 0)).toBe(86_400_000);
});

test("C2 an endpoint to which nothing could be delivered for days is disabled; one that took something is not", async () => {
  const channels = channelOf(async () => {
    throw new DeliveryError("retry", "Down.");
  });
  const exhaust = async (id: string) => {
    await change(id, { attempts: 9, nextAttemptAt: secondsAgo(0) });
    return deliver(services, { id, via: "poll", channels, signal: never });
  };
  const own = await addOwner(services);
  await addEndpoint(services, own, "https://hooks.example.test/");
  const { webhookEndpoints } = schema;
  const isEnabled = async () => {
    const [row] = await services.db
      .select()
      .from(webhookEndpoints)
      .where(eq(webhookEndpoints.ownerId, own.userId));
    return row?.isEnabled;
  };
  const taken = await owed(own);
  const first = await owed(own);
  await change(first.id, { createdAt: secondsAgo(60) });
  await deliver(services, {
    id: taken.id,
    via: "poll",
    channels: channelOf(async () => ({ externalId: null })),
    signal: never,
  });
  expect(await exhaust(first.id)).toBe("failed");
  expect(await isEnabled()).toBe(true);
  const second = await owed(own);
  expect(await exhaust(second.id)).toBe("failed");
  expect(await isEnabled()).toBe(false);
});

test("C6 pages of deliveries, some of one moment, have each once, newest first, also when a page's last row was removed meanwhile", async () => {
  const own = await addOwner(services);
  await addEndpoint(services, own, "https://hooks.example.test/");
  const ids: string[] = [];
  for (const ago of [4, 3, 3, 3, 2]) {
    const { id } = await owed(own);
    await change(id, { createdAt: sql`timestamptz '2026-01-01' - ${ago} * interval '1 second'` });
    ids.push(id);
  }
  const [oldest, ...rest] = ids;
  const newest = rest.pop();
  const seen: string[] = [];
  for (let cursor: string | null | undefined; cursor !== null;) {
    const query = { ...listDeliveriesSchema.parse({ limit: 2, cursor }), ownerId: own.userId };
    const { items, nextCursor } = await listDeliveries(services, query);
    seen.push(...items.map(({ id }) => id));
    if (nextCursor !== null) await services.db.delete(deliveries).where(eq(deliveries.id, seen.at(-1) ?? ""));
    cursor = nextCursor;
  }
  expect(seen).toEqual([newest, ...rest.toSorted().toReversed(), oldest]);
  const wrong = { ...listDeliveriesSchema.parse({ cursor: "x" }), ownerId: own.userId };
  await expect(listDeliveries(services, wrong)).rejects.toMatchObject({ code: "bad_request" });
});
