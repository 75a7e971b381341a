import { sql } from "drizzle-orm";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { forBackendSuites } from "@atelier/testing/cases";
import {
  addJob,
  addNode,
  addOwner,
  addServer,
  insertJob,
  localOffers,
  readJob,
  readStory,
  type TestOwner,
  testQueue,
} from "@atelier/testing/jobs";
import { openJobScene } from "@atelier/testing/scenes";
import { createTestServices, type TestServices } from "@atelier/testing/services";
import { schema } from "../db/index.ts";
import { AppError, type ErrorCode } from "../platform/index.ts";
import { rering } from "./dispatch.ts";
import { readWaiting } from "./estimate.ts";
import { fail } from "./fail.ts";
import type { Job, Lease } from "./job.ts";
import { claim, noteSubmission, start } from "./claimed.ts";
import type { Offer } from "./offers.ts";
import { submit } from "./submit.ts";
import { clearAvoidedServers, readAwaitedNeeds, sweep } from "./sweep.ts";
import type { Services } from "../services.ts";

/** Lets a failed job rest for an hour, so that what comes next in a test comes before the next try. */
function patient(services: Services): Services {
  const { config } = services;
  const timing = { ...config.timing, retryDelayMs: 3_600_000, maxRetryDelayMs: 3_600_000 };
  return { ...services, config: { ...config, timing } };
}

describe("reroute", () => {
  const need = "comfyui/upscale_model";
  const [small, large] = ["http://small:8188", "http://large:8188"];
  const offers: readonly Offer[] = [{ need, servers: [small, large] }];

  const scene = openJobScene({ isEmptied: true });
  let nodeId: string;

  beforeEach(async () => {
    nodeId = await addNode(scene.services, { queue: "gpu-high", needs: [need], slots: 2 });
  });

  async function submitUpscale(): Promise<string> {
    const request = { kind: "upscale", workflow: "upscale_model", inputs: { image: scene.owner.imageId } };
    return (await submit(scene.services, request, { submitter: scene.owner })).id;
  }

  async function takeNext(): Promise<Job> {
    await sweep(scene.services);
    const job = await claim(scene.services, { nodeId, queue: "gpu-high", offers });
    if (!job) throw new Error("there was nothing to claim");
    return job;
  }

  /** A try on a server that ends with the error; gives the job as it is then. */
  async function failOn(server: string, code: ErrorCode, more: object = {}): Promise<Job> {
    const { id, attempt } = await takeNext();
    const lease = { jobId: id, attempt, nodeId };
    await start(scene.services, lease);
    await noteSubmission(scene.services, lease, { server, externalId: `${id}-${attempt}` });
    const details = { ...more, server };
    await fail(patient(scene.services), lease, new AppError(code, undefined, { details }));
    return readJob(scene.services, id);
  }

  describe("D8 where a failed try goes", () => {
    test("F25 a lost server: to another at once, uncharged, and never back while there is another", async () => {
      await addServer(scene.services, { nodeId, url: small, needs: [need] });
      await addServer(scene.services, { nodeId, url: large, needs: [need] });
      await submitUpscale();
      const job = await failOn(small, "server_lost");
      expect(job).toMatchObject({ charged: 0, avoid: [small], externalId: null });
      const alone: readonly Offer[] = [{ need, servers: [small] }];
      await sweep(scene.services);
      expect(await claim(scene.services, { nodeId, queue: "gpu-high", offers: alone })).toBeNull();
      expect(await claim(scene.services, { nodeId, queue: "gpu-high", offers })).toMatchObject({
        id: job.id,
      });
    });

    test("F25 a lost server: to one that another node serves through another queue of cards", async () => {
      const { services } = scene;
      const other = await addNode(services, { queue: "gpu-medium", needs: [need] });
      await addServer(services, { nodeId, url: small, needs: [need] });
      await addServer(services, { nodeId: other, url: large, needs: [need] });
      await submitUpscale();
      const job = await failOn(small, "server_lost");
      expect(job).toMatchObject({ avoid: [small], queue: "gpu-medium" });
      await sweep(services);
      const claimed = await claim(services, {
        nodeId: other,
        queue: "gpu-medium",
        offers: [{ need, servers: [large] }],
      });
      expect(claimed).toMatchObject({ id: job.id });
    });

    test("F25 a server that its node offers to nobody is no other server", async () => {
      const { services } = scene;
      const narrowed = await addNode(services, { queue: "gpu-medium", needs: [] });
      await addServer(services, { nodeId, url: small, needs: [need] });
      await addServer(services, { nodeId: narrowed, url: large, needs: [need] });
      await submitUpscale();
      expect(await failOn(small, "server_lost")).toMatchObject({ avoid: [], queue: "gpu-high" });
    });

    test("F25 the only server: the job waits a while for it to come back", async () => {
      await addServer(scene.services, { nodeId, url: small, needs: [need] });
      await submitUpscale();
      const job = await failOn(small, "server_lost");
      expect(job).toMatchObject({ status: "pending", charged: 0, avoid: [] });
      expect(job.notBefore).toBeInstanceOf(Date);
    });

    test("F27 a server that fails every run: a job has as many tries uncharged as it has retries, then each counts", async () => {
      await addServer(scene.services, { nodeId, url: small, needs: [need] });
      const id = await submitUpscale();
      const next = () => scene.services.db.update(schema.jobs).set({ notBefore: null });
      const charged = [(await failOn(small, "engine_failed")).charged];
      for (let run = 0; run < 4; run += 1) {
        await next();
        charged.push((await failOn(small, "server_lost", { excused: true })).charged);
      }
      expect(charged).toEqual([1, 1, 1, 2, 3]);
      expect(await readJob(scene.services, id)).toMatchObject({ status: "failed", errorCode: "server_lost" });
      const story = await readStory(scene.services, id);
      const tries = story.filter(({ type }) => type === "requeued").map(({ data }) => data["charged"]);
      expect(tries).toEqual([true, false, false, true]);
    });

    test("F27 a server that is lost for another reason costs nothing, however many tries were excused", async () => {
      await addServer(scene.services, { nodeId, url: small, needs: [need] });
      await submitUpscale();
      for (const more of [{ excused: true }, {}, { excused: true }, {}, {}]) {
        await scene.services.db.update(schema.jobs).set({ notBefore: null });
        expect(await failOn(small, "server_lost", more)).toMatchObject({ status: "pending", charged: 0 });
      }
    });

    test("F27 a job that must not be tried again is not tried on a server that fails every run", async () => {
      await addServer(scene.services, { nodeId, url: small, needs: [need] });
      const id = await submitUpscale();
      await scene.services.db.update(schema.jobs).set({ maxRetries: 0 });
      await failOn(small, "server_lost", { excused: true });
      expect(await readJob(scene.services, id)).toMatchObject({ status: "failed", charged: 1 });
    });

    test("node_failed: charged, to another server, and failed at once when there is none", async () => {
      await addServer(scene.services, { nodeId, url: small, needs: [need] });
      await addServer(scene.services, { nodeId, url: large, needs: [need] });
      await submitUpscale();
      expect(await failOn(small, "node_failed")).toMatchObject({ avoid: [small], charged: 1 });
      expect(await failOn(large, "node_failed")).toMatchObject({ status: "failed", charged: 2 });
    });

    test("engine_blocked: no other server is asked, which might pay a service again", async () => {
      await addServer(scene.services, { nodeId, url: small, needs: [need] });
      await addServer(scene.services, { nodeId, url: large, needs: [need] });
      await submitUpscale();
      expect(await failOn(small, "engine_blocked")).toMatchObject({
        status: "failed",
        attempt: 1,
        charged: 1,
      });
    });

    test("request_too_large: to another server, and failed with its own code when there is none", async () => {
      const code = "request_too_large";
      await addServer(scene.services, { nodeId, url: small, needs: [need] });
      await addServer(scene.services, { nodeId, url: large, needs: [need] });
      await submitUpscale();
      expect(await failOn(small, code)).toMatchObject({ avoid: [small], charged: 0 });
      expect(await failOn(large, code)).toMatchObject({ status: "failed", errorCode: code });
    });

    test("D8 model_missing: to another server, and when there is none it waits for the model as a later job does", async () => {
      const { services, owner } = scene;
      await addServer(services, { nodeId, url: small, needs: [need] });
      await addServer(services, { nodeId, url: large, needs: [need] });
      const first = await submitUpscale();
      expect(await failOn(small, "model_missing")).toMatchObject({ avoid: [small], charged: 0 });
      expect(await readAwaitedNeeds(services)).toEqual(new Set());
      await services.db.delete(schema.engineServers);
      await services.db.update(schema.nodeQueues).set({ needs: [] });
      await failOn(large, "model_missing");
      const later = await submitUpscale();
      const { items } = await readWaiting(services, owner.userId);
      // The first waits for its second try.
      expect(items).toMatchObject([later, first].map((id) => ({ id, isLive: false })));
      expect(await readAwaitedNeeds(services)).toEqual(new Set([need]));
      await addServer(services, { nodeId, url: large, needs: [need] });
      await services.db.update(schema.nodeQueues).set({ needs: [need] });
      await services.db.update(schema.jobs).set({ notBefore: null });
      expect(await takeNext()).toMatchObject({ id: first, charged: 0, attempt: 3 });
    });

    test("F27 out of memory on a card: to a server with more of it", async () => {
      await addServer(scene.services, { nodeId, url: small, needs: [need], vramGib: 8 });
      await addServer(scene.services, { nodeId, url: large, needs: [need], vramGib: 24 });
      await addServer(scene.services, { nodeId, url: "http://same:1", needs: [need], vramGib: 8 });
      await submitUpscale();
      const job = await failOn(small, "gpu_out_of_memory");
      expect(job.avoid.toSorted()).toEqual(["http://same:1", small]);
      expect(job).toMatchObject({ charged: 0, queue: "gpu-high" });
    });

    test("F27 D8 out of memory on every card: to the CPU queue as a declared downgrade", async () => {
      await addNode(scene.services);
      await addServer(scene.services, { nodeId, url: small, needs: [need] });
      await submitUpscale();
      const job = await failOn(small, "gpu_out_of_memory");
      expect(job).toMatchObject({
        queue: "cpu-light",
        engine: "local",
        need: "local/upscale",
        workflow: null,
        placement: { downgrade: { from: need, queue: "gpu-high", reason: "gpu_out_of_memory" } },
      });
    });

    test("F27 D8 out of memory everywhere and nothing on the CPU can do it: once more on the freed card, then failed with its own code", async () => {
      await addServer(scene.services, { nodeId, url: small, needs: [need] });
      await submitUpscale();
      expect(await failOn(small, "gpu_out_of_memory")).toMatchObject({
        status: "pending",
        charged: 0,
        avoid: [],
        queue: "gpu-high",
        notBefore: expect.any(Date),
      });
      await scene.services.db.update(schema.jobs).set({ notBefore: null });
      expect(await failOn(small, "gpu_out_of_memory")).toMatchObject({
        status: "failed",
        errorCode: "gpu_out_of_memory",
      });
    });

    test("whoever it waited for has gone: it may go back to the server that is left", async () => {
      await addServer(scene.services, { nodeId, url: small, needs: [need] });
      await addServer(scene.services, { nodeId, url: large, needs: [need] });
      await submitUpscale();
      expect(await failOn(small, "server_lost")).toMatchObject({ avoid: [small] });
      await scene.services.db.update(schema.engineServers).set({ state: "down" });
      await sweep(scene.services);
      await scene.services.db.delete(schema.engineServers);
      await addServer(scene.services, { nodeId, url: small, needs: [need] });
      await sweep(scene.services);
      const alone: readonly Offer[] = [{ need, servers: [small] }];
      expect(await claim(scene.services, { nodeId, queue: "gpu-high", offers: alone })).toMatchObject({
        avoid: [],
      });
    });

    test("E7 sweeps of several workers that change the same rows in other orders never deadlock", async () => {
      const { services } = scene;
      const { jobs } = schema;
      await addServer(services, { nodeId, url: small, needs: [need] });
      const ids: string[] = [];
      for (let at = 0; at < 60; at += 1)
        ids.push(await insertJob(services, { owner: scene.owner, queue: "gpu-high" }));
      for (let round = 0; round < 5; round += 1) {
        await services.db.execute(sql`
        update ${jobs} set status = 'queued', need = ${need}, avoid = array[${small}]::text[],
          rung_at = now() - interval '1 minute', queued_at = now() - owner_order * interval '1 microsecond'`);
        const racers = Array.from({ length: 6 }, (_, at) =>
          at % 2 === 0 ? rering(services, 0) : clearAvoidedServers(services),
        );
        await expect(Promise.all(racers)).resolves.toHaveLength(racers.length);
      }
    });

    test.each([
      ["storage_unavailable", {}, "posted"],
      ["out_of_memory", {}, "posted"],
      // The server itself had none.
      ["out_of_memory", { details: { server: small } }, null],
      ["engine_failed", {}, null],
    ] as const)(
      "F30 after %s %j the next try looks for what was posted: %s",
      async (code, more, externalId) => {
        await addServer(scene.services, { nodeId, url: small, needs: [need] });
        await submitUpscale();
        const { id, attempt } = await takeNext();
        const lease = { jobId: id, attempt, nodeId };
        await noteSubmission(scene.services, lease, { server: small, externalId: "posted" });
        await fail(scene.services, lease, new AppError(code, undefined, more));
        expect(await readJob(scene.services, id)).toMatchObject({ status: "pending", externalId });
      },
    );

    test("F3 what a dead worker posted is kept for the next try; what failed or was stopped is not", async () => {
      await addServer(scene.services, { nodeId, url: small, needs: [need] });
      await submitUpscale();
      const { id, attempt } = await takeNext();
      await noteSubmission(
        scene.services,
        { jobId: id, attempt, nodeId },
        { server: small, externalId: "posted" },
      );
      await scene.services.db.update(schema.nodes).set({ state: "lost" });
      await sweep(scene.services);
      expect(await readJob(scene.services, id)).toMatchObject({
        nodeId: null,
        charged: 1,
        server: small,
        externalId: "posted",
      });
    });
  });
});

describe("fail", () => {
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
    async function failAlways(code: ErrorCode, maxRetries?: number) {
      const id = await addJob(opened.services, {
        owner,
        ...(maxRetries === undefined ? {} : { maxRetries }),
      });
      for (let at = 0; at < 9; at += 1) {
        const lease = await tryAgain();
        if (!lease) break;
        await fail(opened.services, lease, new AppError(code));
      }
      return readJob(opened.services, id);
    }

    test.each(["no_person_found", "output_too_large", "no_engine", "no_picture", "graph_invalid"] as const)(
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

    test.each([
      [0, 1],
      [1, 2],
      [9, 3],
    ])(
      "D12 a job that allows itself %d retries is tried %d times, never more than the configuration says",
      async (maxRetries, tries) => {
        const spent = { status: "failed", attempt: tries, charged: tries };
        expect(await failAlways("engine_failed", maxRetries)).toMatchObject(spent);
      },
    );

    test("D12 what costs a job nothing is tried again also by one that allows itself no retry", async () => {
      expect(await failAlways("storage_unavailable", 0)).toMatchObject({ status: "pending", charged: 0 });
    });

    test("D12 the death of its worker ends a job that allows itself no retry, and the message names one death", async () => {
      const { services } = opened;
      const ids = [0, 1].map((maxRetries) => addJob(services, { owner, maxRetries }));
      const [none, one] = await Promise.all(ids);
      while (await tryAgain());
      await services.db.update(schema.nodes).set({ state: "lost" });
      await sweep(services);
      expect(await readJob(services, none ?? "")).toMatchObject({
        status: "failed",
        charged: 1,
        errorCode: "worker_lost",
        errorMessage: expect.stringMatching(/^The worker node-\w+ died while it worked on the job\.$/),
      });
      expect(await readJob(services, one ?? "")).toMatchObject({ status: "queued", charged: 1 });
    });

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
          const rows = await services.db.execute<{ waitMs: number }>(sql`
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

    test("a job whose LoRAs or checkpoint are away waits on after all attempts, and is not charged", async () => {
      const { services } = opened;
      const id = await addJob(services, { owner });
      const { maxAttempts } = services.config.limits;
      for (let attempt = 1; attempt <= maxAttempts + 1; attempt += 1) {
        const lease = await tryAgain();
        if (!lease) throw new Error("the job was not started");
        const away = new AppError("server_busy", undefined, { details: { away: ["fur.safetensors"] } });
        await fail(services, lease, away);
      }
      const waits = { status: "pending", attempt: maxAttempts + 1, charged: 0 };
      expect(await readJob(services, id)).toMatchObject(waits);
      const lease = await tryAgain();
      if (lease) await fail(services, lease, new AppError("no_engine"));
    });

    test("A13 a failed try waits before the next and says why in the story", async () => {
      const { services } = opened;
      const id = await addJob(services, { owner });
      const lease = await tryAgain();
      if (!lease) throw new Error("the job was not started");
      await fail(patient(services), lease, new AppError("engine_failed"));
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
      await fail(patient(opened.services), lease, new AppError("server_busy"));
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
});
