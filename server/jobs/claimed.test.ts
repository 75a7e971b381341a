import { eq, sql } from "drizzle-orm";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import {
  addJob,
  addNode,
  addOwner,
  insertJob,
  localOffers,
  readJob,
  type TestOwner,
  testQueue,
} from "@atelier/testing/jobs";
import { countStatements } from "@atelier/testing/postgres";
import { createTestServices, type TestServices } from "@atelier/testing/services";
import { schema } from "../db/index.ts";
import { writeQueues } from "../nodes/index.ts";
import { newId } from "../platform/index.ts";
import { scheduleDispatch } from "./dispatch.ts";
import { claim, complete, handBackUnknown, start } from "./claimed.ts";
import type { Offer } from "./offers.ts";
import { submit } from "./submit.ts";

let opened: TestServices;
afterAll(() => opened.close());

describe("hand back unknown", () => {
  const { jobs } = schema;
  beforeAll(async () => {
    opened = await createTestServices();
  });

  async function claimAt(attempt: number, changes: Partial<typeof jobs.$inferInsert> = {}) {
    const { services } = opened;
    const nodeId = await addNode(services);
    await addJob(services, { owner: await addOwner(services) });
    const job = await claim(services, { nodeId, queue: testQueue, offers: localOffers });
    if (!job) throw new Error("no job was claimed");
    // Comes after the dispatch that the claim began, which would let out again what a test hands back meanwhile.
    await scheduleDispatch(services, testQueue);
    await services.db
      .update(jobs)
      .set({ attempt, ...changes })
      .where(eq(jobs.id, job.id));
    return { id: job.id, nodeId };
  }

  test("A6 a job whose end can never be stored fails after its last try, one before it goes back to the line", async () => {
    const { services } = opened;
    const { maxAttempts } = services.config.limits;
    const last = await claimAt(maxAttempts);
    expect(await handBackUnknown(services, { nodeId: last.nodeId, running: [last.id] })).toBe(0);
    expect(await handBackUnknown(services, { nodeId: last.nodeId, running: [] })).toBe(1);
    expect(await readJob(services, last.id)).toMatchObject({ status: "failed", errorCode: "internal" });
    const earlier = await claimAt(maxAttempts - 1);
    expect(await handBackUnknown(services, { nodeId: earlier.nodeId, running: [] })).toBe(1);
    expect(await readJob(services, earlier.id)).toMatchObject({ status: "pending", nodeId: null });
  });

  test("A6 a cancel request is honoured after the last try too", async () => {
    const { services } = opened;
    const { id, nodeId } = await claimAt(services.config.limits.maxAttempts, {
      cancelRequestedAt: new Date(),
    });
    await handBackUnknown(services, { nodeId, running: [] });
    expect((await readJob(services, id)).status).toBe("cancelled");
  });
});

describe("run", () => {
  let owner: TestOwner;

  beforeAll(async () => {
    opened = await createTestServices();
    owner = await addOwner(opened.services);
  });

  test("E7 twenty racers claim one job: exactly one gets it", async () => {
    const { services } = opened;
    const nodes = await Promise.all(Array.from({ length: 20 }, () => addNode(services)));
    const id = await addJob(services, { owner });
    const claims = await Promise.all(
      nodes.map((nodeId) => claim(services, { nodeId, queue: testQueue, offers: localOffers })),
    );
    const won = claims.flatMap((job, at) => (job ? [nodes[at]] : []));
    expect(won).toHaveLength(1);
    expect(await readJob(services, id)).toMatchObject({
      status: "processing",
      attempt: 1,
      nodeId: won[0],
    });
  });

  test("E7 twenty racers claim ten jobs: each job once, no racer fails", async () => {
    const { services } = opened;
    const nodes = await Promise.all(Array.from({ length: 20 }, () => addNode(services)));
    const ids = await Promise.all(Array.from({ length: 10 }, () => addJob(services, { owner })));
    const claims = await Promise.all(
      nodes.map((nodeId) => claim(services, { nodeId, queue: testQueue, offers: localOffers })),
    );
    const claimed = claims.flatMap((job) => (job ? [job.id] : []));
    expect(claimed.toSorted()).toEqual(ids.toSorted());
  });

  test.each(["draining", "lost", "gone"] as const)("a node that is %s claims nothing", async (state) => {
    const { services } = opened;
    const nodeId = await addNode(services, { state });
    const id = await addJob(services, { owner });
    expect(await claim(services, { nodeId, queue: testQueue, offers: localOffers })).toBeNull();
    const active = await addNode(services);
    expect(await claim(services, { nodeId: active, queue: testQueue, offers: localOffers })).toMatchObject({
      id,
    });
  });

  test("F34 a job that must run alone waits for an empty node, and others do not pass it by", async () => {
    const { services } = opened;
    const nodeId = await addNode(services, { slots: 3 });
    const take = () => claim(services, { nodeId, queue: testQueue, offers: localOffers });
    const first = await addJob(services, { owner });
    expect(await take()).toMatchObject({ id: first });
    const alone = await addJob(services, { owner });
    await services.db.execute(sql`update ${schema.jobs} set run_alone = true where id = ${alone}`);
    const third = await addJob(services, { owner });
    expect(await take()).toBeNull();
    const lease = { jobId: first, attempt: 1, nodeId };
    await start(services, lease);
    await complete(services, { lease, outputs: [], facts: {} });
    expect(await take()).toMatchObject({ id: alone });
    expect(await take()).toBeNull();
    expect((await readJob(services, third)).status).toBe("queued");
  });

  /** A node of two queues whose `urgent` queue never runs dry, and what it claims there and in the queue of the tests. */
  async function addBusyNode() {
    const { services } = opened;
    await services.db.execute(sql`delete from ${schema.jobs}`);
    const nodeId = await addNode(services, { slots: 4 });
    await writeQueues(services.db, nodeId, [
      { queue: testQueue, slots: 4, needs: ["local/upscale"] },
      { queue: "urgent", slots: 2, needs: ["local/upscale"] },
    ]);
    const claimFrom = (queue: string, other: string) =>
      claim(services, {
        nodeId,
        queue,
        offers: localOffers,
        otherQueues: [{ queue: other, offers: localOffers }],
      });
    return {
      nodeId,
      claimUrgent: () => claimFrom("urgent", testQueue),
      claimLight: () => claimFrom(testQueue, "urgent"),
      addUrgent: async () => {
        const id = await insertJob(services, { owner, queue: "urgent" });
        await setQueued(id);
        return id;
      },
      end: async (id: string) => {
        const lease = { jobId: id, attempt: 1, nodeId };
        await start(services, lease);
        await complete(services, { lease, outputs: [], facts: {} });
      },
    };
  }

  /** Past the window, so that a test decides what a node meets. */
  async function setQueued(id: string): Promise<void> {
    await opened.services.db.execute(
      sql`update ${schema.jobs} set status = 'queued', queued_at = now() where id = ${id}`,
    );
  }

  async function addAlone(lostWorkers: number): Promise<string> {
    const id = await insertJob(opened.services, { owner, lostWorkers });
    await setQueued(id);
    return id;
  }

  test("F34 jobs that must run alone get their turn on a node whose other queue never runs dry", async () => {
    const { claimUrgent, claimLight, addUrgent, end } = await addBusyNode();
    const alone = new Set(await Promise.all(Array.from({ length: 3 }, () => addAlone(2))));
    const running: string[] = [];
    for (let turn = 0; turn < 20 && alone.size > 0; turn += 1) {
      await addUrgent();
      const begun = [await claimUrgent(), await claimUrgent(), await claimLight()].flatMap(
        (job) => job ?? [],
      );
      const isAlone = begun.some((job) => job.runAlone);
      expect(isAlone ? [running.length, begun.length] : [0, 1]).toEqual([0, 1]);
      running.push(...begun.map((job) => job.id));
      const next = running.shift();
      if (!next) continue;
      await end(next);
      alone.delete(next);
    }
    expect(alone.size).toBe(0);
    expect(await claimUrgent()).not.toBeNull();
  });

  test("F34 a job that lost one worker runs beside a long run in the end, one that lost two does not", async () => {
    const { services } = opened;
    const { nodeId, claimUrgent, claimLight, addUrgent } = await addBusyNode();
    const long = await addUrgent();
    expect(await claimUrgent()).toMatchObject({ id: long });
    const alone = await addAlone(1);
    await addUrgent();
    expect([await claimLight(), await claimUrgent()]).toEqual([null, null]);
    const { aloneWaitMs } = services.config.timing;
    const age = (column: "queued_at" | "claimed_at", id: string) =>
      services.db.execute(sql`update ${schema.jobs}
      set ${sql.identifier(column)} = now() - ${aloneWaitMs + 1_000} * interval '1 millisecond' where id = ${id}`);
    await age("queued_at", alone);
    expect(await claimLight()).toBeNull();
    await age("claimed_at", long);
    await services.db.execute(sql`update ${schema.jobs} set charged = 2 where id = ${alone}`);
    expect([await claimLight(), await claimUrgent()]).toEqual([null, null]);
    await services.db.execute(sql`update ${schema.jobs} set charged = 1 where id = ${alone}`);
    expect(await claimLight()).toMatchObject({ id: alone, nodeId });
  });

  test("F34 a node keeps nothing free for a job that it cannot run itself", async () => {
    const { services } = opened;
    const { nodeId, addUrgent, claimUrgent } = await addBusyNode();
    await addAlone(2);
    const id = await addUrgent();
    expect(await claimUrgent()).toBeNull();
    const otherQueues = [{ queue: testQueue, offers: [{ need: "local/inpaint", servers: null }] as const }];
    expect(
      await claim(services, { nodeId, queue: "urgent", offers: localOffers, otherQueues }),
    ).toMatchObject({
      id,
    });
  });

  /** Of a node whose engine is on a server. */
  const serverOffers = [{ need: "local/upscale", servers: ["http://server:1"] }] as const;

  test("a job of the local engine begins with its claim; a job for a server waits for it", async () => {
    const { services } = opened;
    await services.db.execute(sql`delete from ${schema.jobs}`);
    const nodeId = await addNode(services);
    const take = (offers: readonly Offer[]) => claim(services, { nodeId, queue: testQueue, offers });
    await addJob(services, { owner });
    const local = await take(localOffers);
    expect(local).toMatchObject({ status: "processing", startedAt: expect.any(Date) });
    const lease = { jobId: local?.id ?? "", attempt: 1, nodeId };
    expect(await start(services, lease)).toMatchObject({ status: "processing", revision: local?.revision });
    await addJob(services, { owner });
    expect(await take(serverOffers)).toMatchObject({ status: "waiting_for_engine", startedAt: null });
  });

  test.each([
    ["is gone", null, null],
    ["may still be there", "prompt", "http://server:1"],
  ])(
    "A12 a job that is claimed again names its former server only when its prompt %s",
    async (_what, externalId, server) => {
      const { services } = opened;
      await services.db.execute(sql`delete from ${schema.jobs}`);
      const nodeId = await addNode(services);
      const id = await addJob(services, { owner });
      await services.db.update(schema.jobs).set({ server: "http://server:1", externalId });
      const job = await claim(services, { nodeId, queue: testQueue, offers: localOffers });
      expect(job).toMatchObject({ id, server });
    },
  );

  test("a late worker's lease writes nothing; the owner's completes, also when asked twice", async () => {
    const { services } = opened;
    await services.db.execute(sql`delete from ${schema.jobs}`);
    const nodeId = await addNode(services);
    const id = await addJob(services, { owner });
    await claim(services, { nodeId, queue: testQueue, offers: serverOffers });
    const lease = { jobId: id, attempt: 1, nodeId };
    for (const late of [
      { ...lease, attempt: 0 },
      { ...lease, nodeId: newId() },
    ]) {
      expect(await start(services, late)).toBeNull();
      expect(await complete(services, { lease: late, outputs: [], facts: {} })).toBeNull();
    }
    expect(await start(services, lease)).toMatchObject({ status: "processing" });
    const completion = { lease, outputs: [], facts: {} };
    expect(await complete(services, completion)).toMatchObject({ status: "completed", revision: 5 });
    expect(await complete(services, completion)).toMatchObject({ status: "completed", revision: 5 });
  });

  test("P2 from submit to completed a job takes at most six statements", async () => {
    const { services } = opened;
    const remembering = {
      ...services,
      config: { ...services.config, timing: { ...services.config.timing, placesMs: 60_000 } },
    };
    for (const table of [schema.jobs, schema.nodes]) await services.db.delete(table);
    const nodeIds = await Promise.all(Array.from({ length: 4 }, () => addNode(services)));
    const jobCount = 40;
    const submitAll = async () => {
      for (let at = 0; at < jobCount; at += 1)
        await submit(
          remembering,
          { kind: "upscale", inputs: { image: owner.imageId } },
          { submitter: { userId: owner.userId, isGuest: false } },
        );
    };
    /** One slot of a worker: claims until nothing is left. */
    const runShare = async (nodeId: string) => {
      for (let ended = 0; ended < jobCount / nodeIds.length;) {
        const job = await claim(remembering, { nodeId, queue: testQueue, offers: localOffers });
        if (!job) await scheduleDispatch(remembering, testQueue);
        else {
          await complete(remembering, {
            lease: { jobId: job.id, attempt: job.attempt, nodeId },
            outputs: [],
            facts: {},
          });
          ended += 1;
        }
      }
    };
    const statements = await countStatements(async () => {
      await submitAll();
      await Promise.all(nodeIds.map(runShare));
    });
    expect(await services.db.$count(schema.jobs, eq(schema.jobs.status, "completed"))).toBe(jobCount);
    expect(statements / jobCount).toBeLessThanOrEqual(6);
  });
});
