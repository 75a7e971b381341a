import { eq, inArray, sql } from "drizzle-orm";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { forBackendSuites } from "@atelier/testing/cases";
import {
  addNode,
  addOwner,
  insertJob,
  localOffers,
  readJob,
  type TestJob,
  type TestOwner,
  testQueue,
} from "@atelier/testing/jobs";
import { createTestServices, type TestServices } from "@atelier/testing/services";
import { schema } from "../db/index.ts";
import { AppError } from "../platform/index.ts";
import { cancel } from "./cancel.ts";
import { dispatch, scheduleDispatch } from "./dispatch.ts";
import { fail } from "./fail.ts";
import { claim, complete, handBack, start } from "./claimed.ts";
import { submit } from "./submit.ts";
import { sweep } from "./sweep.ts";

forBackendSuites("on %s", (backend) => {
  let opened: TestServices;
  let owner: TestOwner;
  let other: TestOwner;

  beforeAll(async () => {
    opened = await createTestServices({ backend });
    owner = await addOwner(opened.services);
    other = await addOwner(opened.services);
  });
  afterAll(() => opened.close());
  beforeEach(async () => {
    const { jobs, nodes, queueTurns } = schema;
    // The dispatch that the last claim of the test before has started.
    await scheduleDispatch(opened.services, testQueue);
    for (const table of [jobs, nodes, queueTurns]) await opened.services.db.delete(table);
  });

  /** What a worker with one slot does: claims the next, starts it, ends it. */
  async function runNext(nodeId: string): Promise<string | null> {
    const { services } = opened;
    const job = await claim(services, { nodeId, queue: testQueue, offers: localOffers });
    if (!job) return null;
    const lease = { jobId: job.id, attempt: job.attempt, nodeId };
    // The claim has let the next one out behind it; here it must be there before the next claim.
    await dispatch(services, testQueue);
    await start(services, lease);
    await complete(services, { lease, outputs: [], facts: {} });
    return job.id;
  }

  async function insertMany(count: number, job: TestJob): Promise<string[]> {
    const ids: string[] = [];
    for (let at = 0; at < count; at += 1) ids.push(await insertJob(opened.services, job));
    return ids;
  }

  test("E1 F35 one owner has 500 jobs: another's first one is among the next two started", async () => {
    const { services } = opened;
    const nodeId = await addNode(services);
    await insertMany(500, { owner });
    await dispatch(services, testQueue);
    for (let at = 0; at < 5; at += 1) await runNext(nodeId);
    const request = { kind: "upscale", inputs: { image: other.imageId } };
    const { id } = await submit(services, request, { submitter: other });
    expect([await runNext(nodeId), await runNext(nodeId)]).toContain(id);
  });

  test("E1 F35 with 48 slots busy one owner has ten unclaimed jobs in the window, and others come next", async () => {
    const { db } = opened.services;
    const { jobs } = schema;
    const nodeId = await addNode(opened.services, { slots: 48 });
    const busy = await insertMany(48, { owner });
    await db.update(jobs).set({ status: "processing", nodeId }).where(inArray(jobs.id, busy));
    await insertMany(60, { owner });
    expect(await dispatch(opened.services, testQueue)).toHaveLength(10);
    await db
      .update(jobs)
      .set({ status: "completed" })
      .where(inArray(jobs.id, busy.slice(0, 30)));
    expect(await dispatch(opened.services, testQueue)).toHaveLength(20);
  });

  test("E1 owners take turns, and each one's own jobs keep their order", async () => {
    const { services } = opened;
    const nodeId = await addNode(services);
    const own = await insertMany(3, { owner });
    const others = await insertMany(3, { owner: other });
    await dispatch(services, testQueue);
    const started: (string | null)[] = [];
    for (let at = 0; at < 6; at += 1) started.push(await runNext(nodeId));
    expect(started).toEqual(own.flatMap((id, at) => [id, others[at]]));
  });

  test("D5 a higher tier goes first, whoever was served last", async () => {
    const { services } = opened;
    const nodeId = await addNode(services);
    const byTier = new Map<string, string>();
    for (const tier of ["low", "normal", "high", "urgent"] as const)
      byTier.set(await insertJob(services, { owner, tier }), tier);
    const first = await insertJob(services, { owner: other, tier: "low" });
    byTier.set(first, "other's low");
    await dispatch(services, testQueue);
    const started: (string | undefined)[] = [];
    for (let at = 0; at < 5; at += 1) started.push(byTier.get((await runNext(nodeId)) ?? ""));
    expect(started).toEqual(["urgent", "high", "normal", "other's low", "low"]);
  });

  test("E7 the window holds as many unclaimed rows as there are live slots, under 20 dispatches at once", async () => {
    const { services } = opened;
    await addNode(services, { slots: 2 });
    await addNode(services, { slots: 1 });
    await addNode(services, { slots: 5, state: "lost" });
    await insertMany(10, { owner });
    await Promise.all(Array.from({ length: 20 }, () => dispatch(services, testQueue)));
    const rows = await services.db.execute(
      sql`select count(*)::int as n from ${schema.jobs} where status = 'queued'`,
    );
    expect(rows).toEqual([{ n: 3 }]);
  });

  test("A6 a job that waits for its time is passed over until it is due", async () => {
    const { services } = opened;
    const nodeId = await addNode(services);
    const [early = "", late = ""] = await insertMany(2, { owner });
    const setNotBefore = (at: string) =>
      services.db.execute(
        sql`update ${schema.jobs} set not_before = now() + ${at}::interval where id = ${early}`,
      );
    await setNotBefore("1 hour");
    await sweep(services);
    expect([await runNext(nodeId), await runNext(nodeId)]).toEqual([late, null]);
    await setNotBefore("-1 second");
    await sweep(services);
    expect(await runNext(nodeId)).toBe(early);
  });

  test("E1 a job that comes back at no cost goes before those let out after it, a charged one does not", async () => {
    const { services } = opened;
    const nodeId = await addNode(services);
    const [first = "", second = "", third = ""] = await insertMany(3, { owner });
    const take = () => claim(services, { nodeId, queue: testQueue, offers: localOffers });
    await dispatch(services, testQueue);
    expect(await take()).toMatchObject({ id: first });
    await dispatch(services, testQueue);
    expect((await readJob(services, second)).status).toBe("queued");
    await handBack(services, { jobId: first, attempt: 1, nodeId });
    expect(await take()).toMatchObject({ id: first, attempt: 2 });
    await start(services, { jobId: first, attempt: 2, nodeId });
    await fail(services, { jobId: first, attempt: 2, nodeId }, new AppError("internal"));
    const setCharged = (charged: number, externalId: string | null) =>
      services.db
        .update(schema.jobs)
        .set({ charged, externalId, notBefore: null })
        .where(eq(schema.jobs.id, first));
    await setCharged(2, null);
    await dispatch(services, testQueue);
    expect(await take()).toMatchObject({ id: second });
    await dispatch(services, testQueue);
    await setCharged(2, "posted");
    await dispatch(services, testQueue);
    expect(await take()).toMatchObject({ id: first, attempt: 3 });
    expect((await readJob(services, third)).attempt).toBe(0);
  });

  test("D6 a place in the window that a cancel frees goes to the next in the line", async () => {
    const { services } = opened;
    await addNode(services);
    const [first = "", second = ""] = await insertMany(2, { owner });
    await dispatch(services, testQueue);
    expect((await readJob(services, second)).status).toBe("pending");
    await cancel(services, { ownerId: owner.userId, id: first });
    expect((await readJob(services, second)).status).toBe("queued");
  });
});
