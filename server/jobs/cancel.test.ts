import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { forBackendSuites } from "@atelier/testing/cases";
import {
  addJob,
  addNode,
  addOwner,
  insertJob,
  localOffers,
  readJob,
  readStory,
  type TestOwner,
  testQueue,
} from "@atelier/testing/jobs";
import { createTestServices, type TestServices } from "@atelier/testing/services";
import { eq } from "drizzle-orm";
import { type JobStatus, schema } from "../db/index.ts";
import { AppError, type ErrorCode, newId } from "../platform/index.ts";
import { type Attempt, ProviderError } from "../providers/index.ts";
import type { HintMessage } from "../queue/index.ts";
import { cancel, cancelWaiting, confirmCancel, findStops } from "./cancel.ts";
import { dispatch } from "./dispatch.ts";
import { fail } from "./fail.ts";
import type { Lease } from "./job.ts";
import { endCall } from "./cloud-end.ts";
import { waitForProvider } from "./cloud.ts";
import { claim, complete, handBack, handBackUnknown, start } from "./claimed.ts";
import { recover, requeueRestored } from "./sweep.ts";

forBackendSuites("on %s", (backend) => {
  let opened: TestServices;
  let owner: TestOwner;
  let nodeId: string;

  beforeAll(async () => {
    opened = await createTestServices({ backend });
    owner = await addOwner(opened.services);
  });
  afterAll(() => opened.close());
  beforeEach(async () => {
    await opened.services.db.delete(schema.jobs);
    await opened.services.db.delete(schema.nodes);
    nodeId = await addNode(opened.services);
  });

  const cancelOwn = (id: string) => cancel(opened.services, { ownerId: owner.userId, id });
  const claimNext = () => claim(opened.services, { nodeId, queue: testQueue, offers: localOffers });

  /** Claimed, and its server is not free yet. */
  async function claimed(): Promise<Lease> {
    const id = await addJob(opened.services, { owner });
    const offers = [{ need: "local/upscale", servers: ["http://server:1"] }] as const;
    expect(await claim(opened.services, { nodeId, queue: testQueue, offers })).toMatchObject({ id });
    return { jobId: id, attempt: 1, nodeId };
  }

  async function running(): Promise<Lease> {
    const lease = await claimed();
    await start(opened.services, lease);
    return lease;
  }

  test.each([
    ["pending", insertJob],
    ["queued", addJob],
  ] as const)("D6 a %s job is cancelled at once", async (status, add) => {
    const id = await add(opened.services, { owner });
    expect((await readJob(opened.services, id)).status).toBe(status);
    expect(await cancelOwn(id)).toEqual({ cancelled: true, status: "cancelled" });
    expect(await readJob(opened.services, id)).toMatchObject({ status: "cancelled", attempt: 0 });
    expect(await claimNext()).toBeNull();
  });

  test("D6 all that waits is cancelled, and neither what runs nor another user's job", async () => {
    const { services } = opened;
    const lease = await running();
    const waiting = [await insertJob(services, { owner }), await addJob(services, { owner })];
    const other = await addJob(services, { owner: await addOwner(services) });
    expect(await cancelWaiting(services, owner.userId)).toEqual({ cancelled: 2 });
    for (const id of waiting) expect(await readJob(services, id)).toMatchObject({ status: "cancelled" });
    expect(await readJob(services, lease.jobId)).toMatchObject({
      status: "processing",
      cancelRequestedAt: null,
    });
    expect(await claimNext()).toMatchObject({ id: other });
    expect(await cancelWaiting(services, owner.userId)).toEqual({ cancelled: 0 });
  });

  test.each([
    ["waiting_for_engine", claimed],
    ["processing", running],
  ] as const)("D6 the worker of a %s job is told, and its word ends the job", async (status, begin) => {
    const { services } = opened;
    const lease = await begin();
    const told: HintMessage[] = [];
    const published = { ...services.hints, publish: (message: HintMessage) => void told.push(message) };
    const answer = await cancel(
      { ...services, hints: published },
      { ownerId: owner.userId, id: lease.jobId },
    );
    expect(answer).toEqual({ cancelled: true, status });
    expect(told).toContainEqual({ type: "cancel", jobId: lease.jobId });
    expect(await findStops(services, [lease])).toEqual({ cancelled: [lease], lost: [] });
    expect(await confirmCancel(services, lease)).toBe(true);
    expect(await readJob(services, lease.jobId)).toMatchObject({ status: "cancelled", charged: 0 });
    expect(await claimed()).toMatchObject({ nodeId });
  });

  test("F10 the lease of an earlier try is lost, the one of the running try is not, asked to stop or not", async () => {
    const { services } = opened;
    const stale = await running();
    await fail(services, stale, new AppError("storage_unavailable"));
    await services.db.update(schema.jobs).set({ notBefore: null });
    await dispatch(services, testQueue);
    expect(await claimNext()).toMatchObject({ id: stale.jobId, attempt: 2 });
    const current = { ...stale, attempt: 2 };
    expect(await findStops(services, [stale, current])).toEqual({ cancelled: [], lost: [stale] });
    await cancelOwn(stale.jobId);
    expect(await findStops(services, [stale, current])).toEqual({ cancelled: [current], lost: [stale] });
  });

  test.each([
    ["completed", (lease: Lease) => complete(opened.services, { lease, outputs: [], facts: {} })],
    ["failed", (lease: Lease) => fail(opened.services, lease, new AppError("output_too_large"))],
  ] as const)("D6 a job that has %s answers false and stays as it is", async (status, end) => {
    const lease = await running();
    await end(lease);
    const before = await readJob(opened.services, lease.jobId);
    expect(await cancelOwn(lease.jobId)).toEqual({ cancelled: false, status });
    expect(await readJob(opened.services, lease.jobId)).toEqual(before);
  });

  test("D6 asking again for a running job changes nothing and answers true; once it is cancelled it answers false", async () => {
    const lease = await running();
    await cancelOwn(lease.jobId);
    const { revision } = await readJob(opened.services, lease.jobId);
    expect(await cancelOwn(lease.jobId)).toEqual({ cancelled: true, status: "processing" });
    expect((await readJob(opened.services, lease.jobId)).revision).toBe(revision);
    await confirmCancel(opened.services, lease);
    expect(await cancelOwn(lease.jobId)).toEqual({ cancelled: false, status: "cancelled" });
    expect((await readJob(opened.services, lease.jobId)).revision).toBe(revision + 1);
  });

  /** The running job as a provider has it: no node holds it any more. */
  async function atProvider({ jobId }: Lease): Promise<Attempt> {
    const { db } = opened.services;
    const attempt: typeof schema.providerAttempts.$inferInsert = {
      id: newId(),
      jobId,
      ownerId: owner.userId,
      token: newId(),
      keyId: "a",
      endpoint: "a/b",
      provider: "fal",
      model: "a",
      state: "accepted",
      priceUsd: 0.1,
    };
    const [row] = await db.insert(schema.providerAttempts).values(attempt).returning();
    if (!row) throw new Error("no attempt");
    const set = { providerAttemptId: row.id, nodeId: null };
    await db.update(schema.jobs).set(set).where(eq(schema.jobs.id, jobId));
    return row;
  }

  const failWith = (code: ErrorCode) => (lease: Lease) => fail(opened.services, lease, new AppError(code));
  const limited = (lease: Lease, set: Partial<typeof schema.jobs.$inferInsert>) =>
    opened.services.db.update(schema.jobs).set(set).where(eq(schema.jobs.id, lease.jobId));
  const providerFails =
    (errorClass: ProviderError["class"], wish: "fail" | "next") => async (lease: Lease) => {
      const { services } = opened;
      const cloud = { ...services.config.cloud, onLateFailure: wish, onLostReply: wish };
      await endCall(
        { ...services, config: { ...services.config, cloud } },
        { attempt: await atProvider(lease) },
        { as: "failed", error: new ProviderError(errorClass, "no"), costUsd: 0.1 },
      );
    };

  test.each([
    ["a hand-back", (lease: Lease) => handBack(opened.services, lease)],
    ["a failed try", failWith("engine_failed")],
    ["a fault of the input", failWith("mask_empty")],
    ["a refusal of the server", failWith("graph_invalid")],
    [
      "the last failed try",
      async (lease: Lease) => {
        await limited(lease, { maxRetries: 0 });
        await failWith("engine_failed")(lease);
      },
    ],
    [
      "the failure of a job that runs once",
      async (lease: Lease) => {
        await limited(lease, { once: true });
        await failWith("engine_crashed")(lease);
      },
    ],
    [
      "a row that its node does not know",
      ({ nodeId }: Lease) => handBackUnknown(opened.services, { nodeId, running: [] }),
    ],
    [
      "the last claim of such a row",
      async (lease: Lease) => {
        await limited(lease, { attempt: opened.services.config.limits.maxAttempts });
        await handBackUnknown(opened.services, { nodeId: lease.nodeId, running: [] });
      },
    ],
    ["busy providers", (lease: Lease) => waitForProvider(opened.services, lease, { waitMs: 1, skipped: [] })],
    ["a provider's failure", providerFails("internal", "fail")],
    ["a provider's failure before the next one", providerFails("internal", "next")],
    ["a provider's refusal", providerFails("moderation", "next")],
    ["a lost answer", providerFails("lost", "fail")],
    ["a run that takes too long", providerFails("timeout", "fail")],
    [
      "a request that was never sent",
      async (lease: Lease) => {
        const refusal = { error: new ProviderError("unsent", "no"), costUsd: null };
        await endCall(opened.services, { attempt: await atProvider(lease) }, { as: "refused", ...refusal });
      },
    ],
    ["a restore", () => requeueRestored(opened.services)],
    [
      "a restore of a job that runs once",
      async (lease: Lease) => {
        await limited(lease, { once: true });
        await requeueRestored(opened.services);
      },
    ],
    [
      "the death of the worker of a job that runs once",
      async (lease: Lease) => {
        await limited(lease, { once: true });
        await opened.services.db.update(schema.nodes).set({ state: "lost" });
        await recover(opened.services);
      },
    ],
    [
      "the death of its worker",
      async () => {
        await opened.services.db.update(schema.nodes).set({ state: "lost" });
        await recover(opened.services);
      },
    ],
  ] as const)("F36 a request survives %s: the job is cancelled, not started again", async (_end, end) => {
    const lease = await running();
    const { db } = opened.services;
    const hook = { jobId: lease.jobId, url: "https://hooks.example.org/" };
    await db.insert(schema.jobWebhooks).values(hook);
    await cancelOwn(lease.jobId);
    await end(lease);
    expect(await readJob(opened.services, lease.jobId)).toMatchObject({
      status: "cancelled",
      errorCode: null,
      errorMessage: null,
      errorDetails: null,
      endedAt: expect.any(Date),
    });
    expect((await readStory(opened.services, lease.jobId)).at(-1)).toMatchObject({ type: "cancelled" });
    expect(await db.$count(schema.deliveries)).toBe(0);
  });

  /** The ends in the story of a job, and where it stands at last. */
  async function readEnds(id: string) {
    const { status, revision } = await readJob(opened.services, id);
    const story = await readStory(opened.services, id);
    const isEnd = (line: { status: JobStatus }) => ["completed", "failed", "cancelled"].includes(line.status);
    return { status, revision, lines: story.length, ends: story.filter(isEnd).map((line) => line.status) };
  }

  test("F36 E7 cancel against complete, 20 racers, 20 times: one end, never both", async () => {
    const { services } = opened;
    for (let round = 0; round < 20; round += 1) {
      const lease = await running();
      const racers = Array.from({ length: 20 }, async (_, at) => {
        // Each round gives another order a chance.
        if ((at + round) % 3 === 0)
          return Boolean(await complete(services, { lease, outputs: [], facts: {} }));
        if ((at + round) % 3 === 1) return confirmCancel(services, lease);
        return cancelOwn(lease.jobId);
      });
      await Promise.all(racers);
      const { status, revision, lines, ends } = await readEnds(lease.jobId);
      expect(["completed", "cancelled"]).toContain(status);
      expect({ ends, lines }).toEqual({ ends: [status], lines: revision });
    }
  });

  test("F36 E7 cancel against claim, 20 racers, 20 times: cancelled at once or claimed and asked, never lost", async () => {
    const { services } = opened;
    for (let round = 0; round < 20; round += 1) {
      const id = await addJob(services, { owner });
      const racers = Array.from({ length: 20 }, (_, at) =>
        (at + round) % 2 === 0 ? claimNext() : cancelOwn(id),
      );
      await Promise.all(racers);
      const { status: before, cancelRequestedAt } = await readJob(services, id);
      expect(before === "cancelled" || cancelRequestedAt !== null).toBe(true);
      await confirmCancel(services, { jobId: id, attempt: 1, nodeId });
      const { status, revision, lines, ends } = await readEnds(id);
      expect({ status, ends, lines }).toEqual({ status: "cancelled", ends: ["cancelled"], lines: revision });
    }
  });
});
