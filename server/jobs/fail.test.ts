import { sql } from "drizzle-orm";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import {
  addJob,
  addNode,
  addOwner,
  localOffers,
  readJob,
  readStory,
  testQueue,
  type TestOwner,
} from "@atelier/testing/jobs";
import { createTestServices, type TestServices } from "@atelier/testing/services";
import { schema } from "../db/index.ts";
import { AppError, type ErrorCode } from "../platform/index.ts";
import { claim } from "./run.ts";
import { fail } from "./fail.ts";
import type { Lease } from "./lease.ts";
import { start } from "./start.ts";
import { sweep } from "./sweep.ts";

describe.each(["postgres", "redis"] as const)("on %s", (backend) => {
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
    nodeId = await addNode(opened.services);
  });

  /** The next try of the only job, made due first. */
  async function tryAgain(): Promise<Lease | null> {
    const { services } = opened;
    await services.db.execute(sql`update ${schema.jobs} set not_before = now() - interval '1 second'`);
    await sweep(services);
    const job = await claim(services, { nodeId, queue: testQueue, offers: localOffers });
    if (!job) return null;
    const lease = { jobId: job.id, attempt: job.attempt, nodeId };
    await start(services, lease);
    return lease;
  }

  /** Fails each try of a new job with the code, until it is not started any more or 9 tries were made. */
  async function failAlways(code: ErrorCode) {
    const id = await addJob(opened.services, { owner });
    for (let at = 0; at < 9; at += 1) {
      const lease = await tryAgain();
      if (!lease) break;
      await fail(opened.services, lease, new AppError(code));
    }
    return readJob(opened.services, id);
  }

  test.each(["no_person_found", "output_too_large", "no_engine"] as const)(
    "D8 validation: %s fails at once, with its text",
    async (code) => {
      const { message } = new AppError(code);
      const failed = { status: "failed", attempt: 1, charged: 1, errorCode: code, errorMessage: message };
      expect(await failAlways(code)).toMatchObject(failed);
    },
  );

  test.each(["engine_failed", "engine_crashed", "engine_timeout", "out_of_memory", "internal"] as const)(
    "A13 D8 %s is tried three times and then final",
    async (code) => {
      expect(await failAlways(code)).toMatchObject({
        status: "failed",
        attempt: 3,
        charged: 3,
        errorCode: code,
      });
    },
  );

  test.each(["storage_unavailable", "database_unavailable"] as const)(
    "A3 D8 network: %s costs the job nothing",
    async (code) => {
      expect(await failAlways(code)).toMatchObject({
        status: "pending",
        attempt: 9,
        charged: 0,
        errorCode: null,
      });
    },
  );

  test.each(["storage_unavailable", "database_unavailable"] as const)(
    "A13 D8 %s that never ends waits longer each time and then fails with its own code",
    async (code) => {
      const { services } = opened;
      const id = await addJob(services, { owner });
      const waitsMs: number[] = [];
      for (let lease = await tryAgain(); lease; lease = await tryAgain()) {
        await fail(services, lease, new AppError(code));
        const { rows } = await services.db.execute<{ waitMs: number }>(sql`
          select round(extract(epoch from j.not_before - e.created_at))::int * 1000 as "waitMs"
          from ${schema.jobs} j join ${schema.jobEvents} e on e.job_id = j.id and e.revision = j.revision
          where j.status = 'pending'`);
        waitsMs.push(...rows.map((row) => row.waitMs));
      }
      const doubling = [1_000, 2_000, 4_000, 8_000, 16_000, 32_000];
      const { maxAttempts } = services.config.limits;
      expect(waitsMs).toEqual([...doubling, ...Array<number>(maxAttempts - 7).fill(60_000)]);
      const failed = { status: "failed", attempt: maxAttempts, charged: 0, errorCode: code };
      expect(await readJob(services, id)).toMatchObject(failed);
    },
  );

  test("A13 a failed try waits before the next and says why in the story", async () => {
    const { services } = opened;
    const id = await addJob(services, { owner });
    const lease = await tryAgain();
    if (!lease) throw new Error("the job was not started");
    await fail(services, lease, new AppError("engine_failed"));
    await sweep(services);
    expect(await claim(services, { nodeId, queue: testQueue, offers: localOffers })).toBeNull();
    expect((await readStory(services, id)).at(-1)).toMatchObject({
      type: "requeued",
      data: { code: "engine_failed", charged: true },
    });
    expect(await tryAgain()).toMatchObject({ attempt: 2 });
  });

  test.each(["engine_failed", "server_lost", "gpu_out_of_memory", "storage_unavailable"] as const)(
    "A14 %s ends a job that is tried once",
    async (code) => {
      const id = await addJob(opened.services, { owner, once: true });
      const lease = await tryAgain();
      if (!lease) throw new Error("the job was not started");
      await fail(opened.services, lease, new AppError(code));
      expect(await readJob(opened.services, id)).toMatchObject({ status: "failed", errorCode: code });
      expect(await tryAgain()).toBeNull();
    },
  );

  test("A14 a job that is tried once waits on while no server is free", async () => {
    const id = await addJob(opened.services, { owner, once: true });
    const lease = await tryAgain();
    if (!lease) throw new Error("the job was not started");
    await fail(opened.services, lease, new AppError("server_busy"));
    expect(await readJob(opened.services, id)).toMatchObject({ status: "pending", charged: 0 });
    expect(await tryAgain()).toMatchObject({ jobId: id, attempt: 2 });
  });

  test("A14 the death of its worker ends a job that is tried once, and no other", async () => {
    const { services } = opened;
    const ids = [await addJob(services, { owner, once: true }), await addJob(services, { owner })];
    while (await tryAgain());
    await services.db.update(schema.nodes).set({ state: "lost" });
    await sweep(services);
    const [once, other] = await Promise.all(ids.map((id) => readJob(services, id)));
    expect(once).toMatchObject({
      status: "failed",
      errorCode: "worker_lost",
      errorMessage: expect.stringMatching(/^The worker node-\w+ died while it worked on the job\.$/),
    });
    expect(other).toMatchObject({ status: "queued", charged: 1 });
  });

  test("F10 a late worker's failure changes nothing", async () => {
    const { services } = opened;
    const id = await addJob(services, { owner });
    const lease = await tryAgain();
    if (!lease) throw new Error("the job was not started");
    const before = await readJob(services, id);
    for (const code of ["engine_failed", "no_person_found"] as const)
      expect(await fail(services, { ...lease, attempt: 0 }, new AppError(code))).toBeNull();
    expect(await readJob(services, id)).toEqual(before);
  });
});
