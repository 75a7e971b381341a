import { eq, sql } from "drizzle-orm";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { forBackendSuites } from "@atelier/testing/cases";
import {
  addImage,
  addJob,
  addNode,
  addOwner,
  insertJob,
  readJob,
  readStory,
  type TestOwner,
} from "@atelier/testing/jobs";
import { createTestServices, type TestServices } from "@atelier/testing/services";
import { schema, type Tier, type Tx } from "../db/index.ts";
import { newId } from "../platform/index.ts";
import type { Bells } from "../queue/index.ts";
import { builtInWorkflows } from "../workflows/index.ts";
import { cancel } from "./cancel.ts";
import { ack } from "./cleanup.ts";
import { kindParams } from "./request.ts";
import { retry } from "./retry.ts";
import { submit } from "./submit.ts";
import { sweep } from "./sweep.ts";

describe("displace", () => {
  const maxWaiting = 3;

  forBackendSuites("D10 a full line on %s", (backend) => {
    let opened: TestServices;
    let owner: TestOwner;
    let admin: TestOwner & { isAdmin: true };

    beforeAll(async () => {
      opened = await createTestServices({ backend, config: { limits: { maxWaiting } } });
    });
    afterAll(() => opened.close());
    beforeEach(async () => {
      await opened.services.db.delete(schema.jobs);
      owner = await addOwner(opened.services);
      admin = { ...(await addOwner(opened.services)), isAdmin: true };
      // It fills the window, so that what follows stays in the line.
      await addJob(opened.services, { owner });
    });

    const fill = async (...tiers: Tier[]) => {
      const ids: string[] = [];
      for (const tier of tiers) ids.push(await insertJob(opened.services, { owner, tier }));
      return ids;
    };
    const submitAs = (tier: Tier) =>
      submit(
        opened.services,
        { kind: "upscale", tier, inputs: { image: admin.imageId } },
        { submitter: admin },
      );

    test("an urgent job takes the place of the oldest low one, whose owner is told why", async () => {
      const [first = "", second = "", normal = ""] = await fill("low", "low", "normal");
      const { id } = await submitAs("urgent");
      expect((await readJob(opened.services, id)).tier).toBe(3);
      expect(await readJob(opened.services, first)).toMatchObject({
        status: "failed",
        errorCode: "displaced",
      });
      expect((await readStory(opened.services, first)).at(-1)?.type).toBe("displaced");
      expect((await readJob(opened.services, second)).errorCode).toBeNull();
      expect((await readJob(opened.services, normal)).errorCode).toBeNull();
    });

    test("an urgent job is accepted even where there is no low one", async () => {
      const ids = await fill("normal", "normal", "high");
      expect(await submitAs("urgent")).toMatchObject({ status: "pending" });
      for (const id of ids) expect((await readJob(opened.services, id)).errorCode).toBeNull();
    });

    test("an urgent retry displaces as well, also of a job that a batch waits for", async () => {
      const { services } = opened;
      const [first = "", second = "", third = ""] = await fill("low", "low", "low");
      const failed = async () => {
        const id = await insertJob(services, { owner: admin, tier: "urgent" });
        await services.db
          .update(schema.jobs)
          .set({ status: "failed", errorCode: "engine_failed", endedAt: new Date() })
          .where(eq(schema.jobs.id, id));
        return id;
      };
      const [ordinary, ofBatch, batchId] = [await failed(), await failed(), newId()];
      await services.db.insert(schema.batches).values({ id: batchId, ownerId: admin.userId, size: 1 });
      await services.db.insert(schema.batchJobs).values({ batchId, position: 0, jobId: ofBatch });
      const { id } = await retry(services, { submitter: admin, id: ofBatch });
      expect(await services.db.$count(schema.batchJobs, eq(schema.batchJobs.jobId, id))).toBe(1);
      expect((await readJob(services, first)).errorCode).toBe("displaced");
      expect((await readJob(services, second)).errorCode).toBeNull();
      await retry(services, { submitter: admin, id: ordinary });
      expect((await readJob(services, second)).errorCode).toBe("displaced");
      expect((await readJob(services, third)).errorCode).toBeNull();
    });

    test("urgent jobs at the same moment displace one each", async () => {
      await fill("low", "low", "low");
      await Promise.all([submitAs("urgent"), submitAs("urgent"), submitAs("urgent")]);
      const { jobs } = schema;
      expect(await opened.services.db.$count(jobs, eq(jobs.errorCode, "displaced"))).toBe(3);
    });

    test("any other job is refused with a clear error, and stores nothing", async () => {
      await fill("low", "low", "low");
      await expect(submitAs("high")).rejects.toMatchObject({ code: "queue_full" });
      expect(await opened.services.db.$count(schema.jobs)).toBe(1 + maxWaiting);
    });

    test("only an admin may ask for a tier above normal", async () => {
      const request = { kind: "upscale", tier: "urgent", inputs: { image: owner.imageId } };
      await expect(submit(opened.services, request, { submitter: owner })).rejects.toMatchObject({
        code: "forbidden",
      });
    });
  });
});

describe("submit", () => {
  forBackendSuites("on %s", (backend) => {
    let opened: TestServices;
    let owner: TestOwner;

    beforeAll(async () => {
      opened = await createTestServices({ backend, config: { limits: { openJobs: 5 } } });
      owner = await addOwner(opened.services);
    });
    afterAll(() => opened.close());

    const requestOf = (imageId: string) => ({ kind: "upscale", inputs: { image: imageId } });
    const jobsOf = async (ownerId: string) =>
      opened.services.db.select().from(schema.jobs).where(eq(schema.jobs.ownerId, ownerId));

    test("A4 twenty submits with one idempotency key make one job", async () => {
      const { services } = opened;
      const submitter = await addOwner(services);
      const submits = Array.from({ length: 20 }, () =>
        submit(services, requestOf(submitter.imageId), { submitter, idempotencyKey: "one" }),
      );
      const ids = new Set((await Promise.all(submits)).map((submitted) => submitted.id));
      expect(ids.size).toBe(1);
      expect(await jobsOf(submitter.userId)).toHaveLength(1);
    });

    test("A4 the same key with another body is a mismatch, and stores nothing", async () => {
      const { services } = opened;
      const submitter = await addOwner(services);
      const other = await addImage(services, submitter.userId);
      const options = { submitter, idempotencyKey: "two" };
      await submit(services, requestOf(submitter.imageId), options);
      await expect(submit(services, requestOf(other), options)).rejects.toMatchObject({
        code: "idempotency_mismatch",
      });
      expect(await jobsOf(submitter.userId)).toHaveLength(1);
    });

    test("A4 a refused submit keeps no key: the same request passes later", async () => {
      const { services } = opened;
      const submitter = await addOwner(services);
      const options = { submitter, idempotencyKey: "three" };
      const request = requestOf(newId());
      await expect(submit(services, request, options)).rejects.toMatchObject({ code: "not_found" });
      expect(await submit(services, requestOf(submitter.imageId), options)).toMatchObject({
        status: "pending",
      });
    });

    test("twenty submits at once keep to the owner's limit of open jobs", async () => {
      const { services } = opened;
      const submitter = await addOwner(services);
      const submits = Array.from({ length: 20 }, () =>
        submit(services, requestOf(submitter.imageId), { submitter }),
      );
      const settled = await Promise.allSettled(submits);
      expect(settled.filter(({ status }) => status === "fulfilled")).toHaveLength(5);
      const refused = settled.flatMap((result) => (result.status === "rejected" ? [result.reason] : []));
      expect(refused.every((error) => error.code === "quota_exceeded")).toBe(true);
      expect(await jobsOf(submitter.userId)).toHaveLength(5);
    });

    describe("the line is short", () => {
      let short: TestServices;

      beforeAll(async () => {
        short = await createTestServices({ backend, config: { limits: { maxWaiting: 6 } } });
      });
      afterAll(() => short.close());

      async function addSubmitter(isGuest: boolean) {
        const { db } = short.services;
        const { userId, imageId } = await addOwner(short.services);
        await db.update(schema.users).set({ isAnonymous: isGuest }).where(eq(schema.users.id, userId));
        return () => submit(short.services, requestOf(imageId), { submitter: { userId, isGuest } });
      }

      test("guests together fill half of it and never keep out who has an account", async () => {
        const [account, ...guests] = [
          await addSubmitter(false),
          await addSubmitter(true),
          await addSubmitter(true),
        ];
        const first = await account();
        // With the one place of the window taken, all further jobs wait.
        await sweep(short.services);
        expect((await readJob(short.services, first.id)).status).toBe("queued");
        for (const at of [0, 1, 0]) expect(await guests[at]?.()).toMatchObject({ status: "pending" });
        for (const guest of guests)
          await expect(guest()).rejects.toMatchObject({
            code: "queue_full",
            message: expect.stringMatching(/guests.*sign in/),
          });
        for (let at = 0; at < 3; at += 1) expect(await account()).toMatchObject({ status: "pending" });
        await expect(account()).rejects.toMatchObject({ code: "queue_full" });
      });

      async function countBlocked(db: Tx): Promise<number> {
        const rows = await db.execute<{ blocked: number }>(sql`
          select count(*)::int as blocked from pg_locks
          where not granted and database = (select oid from pg_database where datname = current_database())`);
        return rows[0]?.blocked ?? 0;
      }

      test.each([
        ["of accounts fill a line", false],
        ["of guests fill their half of a line", true],
      ] as const)("D10 five submits at one moment %s and no more", async (_what, isGuest) => {
        const { services } = short;
        await services.db.delete(schema.jobs);
        // It fills the window, so that what follows stays in the line.
        const owner = await addOwner(services);
        await addJob(services, { owner });
        // Three places are left to accounts as to guests.
        if (!isGuest) for (let at = 0; at < 3; at += 1) await insertJob(services, { owner });
        const submits: (() => Promise<unknown>)[] = [];
        for (let at = 0; at < 5; at += 1) submits.push(await addSubmitter(isGuest));
        const held = await short.openAnother();
        const { racing } = await held.db.transaction(async (tx) => {
          // Counting goes on and storing waits, so that each racer has counted before the first one has stored.
          await tx.execute(sql`lock table ${schema.jobs} in share mode`);
          const started = Promise.allSettled(submits.map((send) => send()));
          await expect.poll(() => countBlocked(tx)).toBe(5);
          return { racing: started };
        });
        const results = await racing;
        expect(results.filter(({ status }) => status === "fulfilled")).toHaveLength(3);
        const refused = results.flatMap((result) => (result.status === "rejected" ? [result.reason] : []));
        expect(refused.every((error) => error.code === "queue_full")).toBe(true);
      });
    });

    test("a job whose owner has no byte left is refused, and stores nothing", async () => {
      const { services } = opened;
      const submitter = await addOwner(services);
      const { bytesPerUser } = services.config.limits;
      const [{ usedBytes } = { usedBytes: 0 }] = await services.db
        .select({ usedBytes: sql`sum(size_bytes)`.mapWith(Number) })
        .from(schema.images)
        .where(eq(schema.images.ownerId, submitter.userId));
      services.config.limits.bytesPerUser = usedBytes;
      const send = () => submit(services, requestOf(submitter.imageId), { submitter });
      try {
        await expect(send()).rejects.toMatchObject({ code: "storage_quota" });
        expect(await jobsOf(submitter.userId)).toHaveLength(0);
        services.config.limits.bytesPerUser = usedBytes + 1;
        expect(await send()).toMatchObject({ status: "pending" });
      } finally {
        services.config.limits.bytesPerUser = bytesPerUser;
      }
    });

    test("F9 a job whose bell never rang is accepted, and the sweep rings", async () => {
      const { services } = opened;
      const rung: string[] = [];
      const mute: Bells = { ...services.bells, ring: () => Promise.reject(new Error("mute")) };
      const submitter = await addOwner(services);
      const { id } = await submit({ ...services, bells: mute }, requestOf(submitter.imageId), { submitter });
      expect((await readJob(services, id)).status).toMatch(/pending|queued/);
      const bells: Bells = {
        ...services.bells,
        ring: (_queue, calls) => Promise.resolve(void rung.push(...calls.map((bell) => bell.jobId))),
      };
      await addNode(services, { slots: 50 });
      const timing = { ...services.config.timing, reringMs: 1 };
      await sweep({ ...services, bells, config: { ...services.config, timing } });
      expect(rung).toContain(id);
    });

    test("E8 retry makes a new job; two clicks, at once or while it is open, make one", async () => {
      const { services } = opened;
      const { id } = await submit(services, requestOf(owner.imageId), { submitter: owner });
      await expect(retry(services, { submitter: owner, id })).rejects.toMatchObject({ code: "conflict" });
      await cancel(services, { ownerId: owner.userId, id });
      const clicks = Array.from({ length: 8 }, () => retry(services, { submitter: owner, id }));
      const ids = new Set((await Promise.all(clicks)).map((submitted) => submitted.id));
      expect(ids.size).toBe(1);
      const [retryId = ""] = ids;
      expect((await retry(services, { submitter: owner, id })).id).toBe(retryId);
      expect(await readJob(services, retryId)).toMatchObject({ retryOf: id, retryNumber: 1, attempt: 0 });
      expect((await readJob(services, id)).status).toBe("cancelled");
      await cancel(services, { ownerId: owner.userId, id: retryId });
      const second = await retry(services, { submitter: owner, id });
      expect(await readJob(services, second.id)).toMatchObject({ retryOf: id, retryNumber: 2 });
    });

    test("A4 a key whose job is gone is answered with a conflict, never with a job that is not there", async () => {
      const { services } = opened;
      const submitter = await addOwner(services);
      const options = { submitter, idempotencyKey: "gone" };
      const request = { ...requestOf(submitter.imageId), retention: "ephemeral" };
      // Another job keeps the picture.
      await submit(services, requestOf(submitter.imageId), { submitter });
      const { id } = await submit(services, request, options);
      const address = { ownerId: submitter.userId, id };
      await cancel(services, address);
      expect(await submit(services, request, options)).toEqual({ id, status: "cancelled" });
      await ack(services, address);
      await expect(submit(services, request, options)).rejects.toMatchObject({ code: "conflict" });
    });

    test("E8 a job whose retry was acknowledged and is gone can be run again, as a new job", async () => {
      const { services } = opened;
      const submitter = await addOwner(services);
      const { userId: ownerId, imageId } = submitter;
      const request = { ...requestOf(imageId), retention: "ephemeral" };
      const { id } = await submit(services, request, { submitter });
      await cancel(services, { ownerId, id });
      const first = await retry(services, { submitter, id });
      await cancel(services, { ownerId, id: first.id });
      await ack(services, { ownerId, id: first.id });
      const second = await retry(services, { submitter, id });
      expect(second.id).not.toBe(first.id);
      expect(await readJob(services, second.id)).toMatchObject({ retryOf: id, retryNumber: 2 });
    });

    test("E8 another's job cannot be retried or cancelled, and is answered like an unknown one", async () => {
      const { services } = opened;
      const stranger = await addOwner(services);
      const { id } = await submit(services, requestOf(owner.imageId), { submitter: owner });
      await expect(retry(services, { submitter: stranger, id })).rejects.toMatchObject({ code: "not_found" });
      await expect(cancel(services, { ownerId: stranger.userId, id })).rejects.toMatchObject({
        code: "not_found",
      });
    });
  });

  test.each(builtInWorkflows())(
    "a job of $name may set every param that the list of workflows shows",
    (workflow) => {
      const taken = Object.keys(kindParams[workflow.kind].shape);
      expect(taken).toEqual(expect.arrayContaining(Object.keys(workflow.params)));
    },
  );
});
