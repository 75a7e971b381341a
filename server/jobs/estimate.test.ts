import { addNode, addOwner, insertJob, readJob, testQueue } from "@atelier/testing/jobs";
import { openJobScene } from "@atelier/testing/scenes";
import { sql } from "drizzle-orm";
import { expect, test, vi } from "vitest";
import { livePlaces, readWaits, type LineTarget } from "../scheduling/index.ts";
import { schema } from "../db/index.ts";
import { writeQueues } from "../nodes/index.ts";
import { dispatch } from "./dispatch.ts";
import { estimate, readWaiting } from "./estimate.ts";
import { submit } from "./submit.ts";

const scene = openJobScene({ isEmptied: true });

const newcomer = (change: Partial<LineTarget> = {}): LineTarget => ({
  queue: testQueue,
  need: "local/upscale",
  sizeClass: 0,
  ownerId: scene.owner.userId,
  tier: 1,
  ownerOrder: null,
  isQueued: false,
  ...change,
});

async function waitOf(target: LineTarget) {
  const [wait] = await readWaits(scene.services.db, [target]);
  return wait;
}

test("D6 slots of nodes that cannot run a job do not let it start", async () => {
  const { services } = scene;
  await addNode(services, { slots: 3, needs: ["iopaint/inpaint"] });
  expect(await waitOf(newcomer())).toMatchObject({ isLive: false });
  const able = await addNode(services);
  expect(await waitOf(newcomer())).toMatchObject({ isLive: true, waitMs: [0, 0] });
  const running = await insertJob(services, { owner: scene.owner });
  await services.db.execute(
    sql`update jobs set status = 'processing', node_id = ${able} where id = ${running}`,
  );
  const wait = await waitOf(newcomer());
  expect(wait).toMatchObject({ isLive: true, position: 0 });
  expect(wait?.waitMs[1]).toBeGreaterThan(0);
  expect(await waitOf(newcomer({ need: "iopaint/inpaint" }))).toMatchObject({ waitMs: [0, 0] });
});

test("D6 who waits only for other nodes of the queue is counted before a job but does not hold it up", async () => {
  const { services } = scene;
  await addNode(services, { needs: ["iopaint/inpaint"] });
  await addNode(services);
  for (let count = 0; count < 3; count += 1) await insertJob(services, { owner: scene.owner });
  const other = await waitOf(newcomer({ need: "iopaint/inpaint" }));
  expect(other).toMatchObject({ position: 3, waitMs: [0, 0] });
  expect((await waitOf(newcomer()))?.waitMs[1]).toBeGreaterThan(0);
});

test("D6 any number of waiting jobs is placed with as many statements as one", async () => {
  const { services } = scene;
  const others = [await addOwner(services), await addOwner(services)];
  await addNode(services);
  // Safe: drizzle keeps the pool that it was given here.
  const { $client: pool } = services.db as unknown as { $client: { query(): unknown } };
  const query = vi.spyOn(pool, "query");
  const count = async () => {
    query.mockClear();
    // Costs that were just read are believed for a while; of another object nothing has been read.
    const fresh = { ...services, db: new Proxy(services.db, {}) };
    const { items } = await readWaiting(fresh, scene.owner.userId);
    return { items, statements: query.mock.calls.length };
  };
  const first = await insertJob(services, { owner: scene.owner });
  const one = await count();
  for (const other of others)
    for (let at = 0; at < 4; at += 1)
      await insertJob(services, { owner: other, tier: at === 0 ? "high" : "normal" });
  for (let at = 0; at < 9; at += 1)
    await insertJob(services, { owner: scene.owner, tier: at === 8 ? "low" : "normal" });
  await services.db.execute(sql`update jobs set status = 'queued' where id = ${first}`);
  const many = await count();
  query.mockRestore();
  expect(many.items).toHaveLength(10);
  expect(many.statements).toBeLessThanOrEqual(one.statements);
  // The window, two of a higher tier, then in turn with two others who have three each.
  expect(many.items.map(({ position }) => position)).toEqual([0, 5, 8, 11, 12, 13, 14, 15, 16, 17]);
});

test("D6 D8 the told places are those in which jobs are served when nobody else comes, whoever had the last turn", async () => {
  const { services } = scene;
  await addNode(services);
  const owners = [scene.owner, await addOwner(services), await addOwner(services)] as const;
  async function serveNext(): Promise<string | undefined> {
    const [next] = await dispatch(services, testQueue);
    await services.db.execute(sql`delete from jobs where status = 'queued'`);
    return next?.id;
  }
  // The third never had a turn, the second had the last.
  for (const owner of owners.slice(0, 2)) {
    await insertJob(services, { owner });
    await serveNext();
  }
  for (const place of [0, 1, 2, 0, 1, 1, 0, 2, 1])
    await insertJob(services, { owner: owners[place] ?? scene.owner });
  const told = new Map<string, number>();
  for (const { userId } of owners)
    for (const { id, position } of (await readWaiting(services, userId)).items) told.set(id, position);
  const served: string[] = [];
  for (let next = await serveNext(); next; next = await serveNext()) served.push(next);
  expect(served.map((id) => told.get(id))).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8]);
});

test("D6 D9 a job waits for a worker that is away after 30 s without a beat, until it beats again", async () => {
  const { services, owner } = scene;
  const { db } = services;
  const id = await addNode(services);
  const seen = (secondsAgo: number) =>
    db.execute(sql`update nodes set seen_at = now() - ${secondsAgo} * interval '1 second' where id = ${id}`);
  const request = { kind: "upscale", inputs: { image: owner.imageId } };
  await seen(15);
  const live = { isPossible: true, isLive: true, awaits: null, reason: null };
  expect(await estimate(services, request, owner)).toMatchObject(live);
  await seen(31);
  const away = {
    isLive: false,
    awaits: "worker",
    reason: expect.stringContaining("waits for a worker that is away"),
  };
  expect(await estimate(services, request, owner)).toMatchObject({ isPossible: true, ...away });
  expect(await livePlaces(db)).toEqual([]);
  const job = await submit(services, request, { submitter: owner });
  expect((await readJob(services, job.id)).placement).toMatchObject({ isLive: false });
  expect((await readWaiting(services, owner.userId)).items).toMatchObject([{ id: job.id, ...away }]);
  await seen(0);
  expect(await estimate(services, request, owner)).toMatchObject(live);
  expect(await livePlaces(db)).not.toEqual([]);
});

test("D6 a job whose server is away waits for the server while a worker for it runs, else for the worker", async () => {
  const { services, owner } = scene;
  const need = "iopaint/restore_faces";
  const id = await addNode(services, { needs: [need] });
  await writeQueues(services.db, id, [{ queue: testQueue, slots: 1, needs: [] }]);
  const request = { kind: "restore_faces", inputs: { image: owner.imageId } };
  const ofServer = { isLive: false, awaits: "server", reason: expect.stringContaining("server") };
  expect(await estimate(services, request, owner)).toMatchObject(ofServer);
  await services.db.execute(sql`update nodes set seen_at = now() - interval '31 seconds' where id = ${id}`);
  expect(await estimate(services, request, owner)).toMatchObject({ isLive: false, awaits: "worker" });
});

test("E8 a mask that is not painted yet is named by its picture in an estimate, and in no job", async () => {
  const { services, owner } = scene;
  await addNode(services);
  const { imageId } = owner;
  const request = { kind: "inpaint", inputs: { image: imageId, mask: imageId } };
  expect(await estimate(services, request, owner)).toMatchObject({ isPossible: true, priceUsd: 0 });
  await expect(submit(services, request, { submitter: owner })).rejects.toMatchObject({
    code: "bad_request",
  });
});

test("an estimate waits for no lock of its pictures", async () => {
  const { services, owner } = scene;
  await addNode(services);
  const request = { kind: "upscale", inputs: { image: owner.imageId } };
  const answer = await services.db.transaction(async (tx) => {
    // Ends this transaction, and with it the lock, where an estimate waits for it.
    await tx.execute(sql`set local idle_in_transaction_session_timeout = '30s'`);
    await tx.execute(sql`select 1 from ${schema.images} where id = ${owner.imageId} for update`);
    return estimate(services, request, owner);
  });
  expect(answer).toMatchObject({ isPossible: true });
});

/** A job at work that takes a second, and 40 past ones that waited so long, were expected to wait a second and told at most `toldS`. */
async function seeWaits({ waitedS, toldS }: { readonly waitedS: number; readonly toldS: number }) {
  const { services, owner } = scene;
  const nodeId = await addNode(services);
  for (let count = 0; count < 40; count += 1) await insertJob(services, { owner });
  await services.db.execute(sql`update jobs set status = 'completed', created_at = now() - interval '20 s',
    started_at = now() - interval '20 s' + ${waitedS} * interval '1 s',
    ended_at = now() - interval '19 s' + ${waitedS} * interval '1 s' where status = 'pending'`);
  const running = await insertJob(services, { owner });
  await services.db.execute(
    sql`update jobs set status = 'processing', node_id = ${nodeId} where id = ${running}`,
  );
  const estimate = JSON.stringify({ isLive: true, meanMs: 1_000, waitMs: [0, 1_000 * toldS] });
  await services.db.execute(sql`update jobs set attempt = 1, estimate = ${estimate}::jsonb`);
  return estimate;
}

/** How many times its mean a newcomer's told wait is at most. What past jobs waited is kept for two seconds. */
async function toldParts(): Promise<number> {
  const wait = await waitOf(newcomer());
  return wait?.quality === "measured" ? wait.waitMs[1] / wait.meanMs : 0;
}

const patiently = { timeout: 20_000, interval: 200 };

test("D6 a told wait holds what past jobs waited that were expected to wait as long", async () => {
  await seeWaits({ waitedS: 3, toldS: 4 });
  await expect.poll(toldParts, patiently).toBeGreaterThan(2);
  expect(await toldParts()).toBeLessThan(4);
  const wait = await waitOf(newcomer());
  // Money may be spent by the low end: it is never above what past runs vouch for.
  expect(wait?.waitMs[0]).toBeLessThanOrEqual(1_000);
  expect(wait?.meanMs).toBeLessThanOrEqual(1_000);
});

test("D6 a told wait is longer after waits that were longer than told", async () => {
  await seeWaits({ waitedS: 3, toldS: 1 });
  await expect.poll(toldParts, patiently).toBeGreaterThan(5);
});

test.each([
  // In a line that grows the longest waits have not ended.
  ["pending", 0],
  // A node has the job, whose server is not free.
  ["waiting_for_engine", 1],
])("D6 a told wait holds the waits that are still going on of jobs that are %s", async (status, attempt) => {
  const { services } = scene;
  const estimate = await seeWaits({ waitedS: 1, toldS: 10 });
  for (let count = 0; count < 220; count += 1) await insertJob(services, { owner: scene.owner });
  await services.db.execute(sql`update jobs set status = ${status}, attempt = ${attempt},
    created_at = now() - interval '9 s', estimate = ${estimate}::jsonb where status = 'pending'`);
  await expect.poll(toldParts, patiently).toBeGreaterThan(5);
});
