import { eq, sql } from "drizzle-orm";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { addJob, addNode, addOwner, addServer, insertJob, readJob, testQueue } from "@atelier/testing/jobs";
import { openJobScene } from "@atelier/testing/scenes";
import { createTestServices, type TestServices } from "@atelier/testing/services";
import { schema } from "../db/index.ts";
import { dispatch } from "./dispatch.ts";
import { estimate } from "./estimate.ts";
import { submit } from "./submit.ts";
import { moveStranded, sweep } from "./sweep.ts";

describe("fail unservable", () => {
  let opened: TestServices;
  beforeAll(async () => {
    opened = await createTestServices();
  });
  afterAll(() => opened.close());

  test("D3 what nothing of the last 24 hours could run fails with the reason; what may come back waits", async () => {
    const { services } = opened;
    const { db } = services;
    const { jobs, nodes } = schema;
    const owner = await addOwner(services);
    const waitsFor = async (engine: "comfyui" | "local", need: `${"comfyui" | "local"}/${string}`) => {
      const id = await insertJob(services, { owner });
      await db.update(jobs).set({ engine, need }).where(eq(jobs.id, id));
      return id;
    };
    const past = await waitsFor("comfyui", "comfyui/t2i_sdxl");
    const back = await waitsFor("comfyui", "comfyui/t2i_sd15");
    const local = await waitsFor("local", "local/restore_faces");
    const hoursAgo = (hours: number) => sql`now() - make_interval(hours => ${hours})`;
    const lost = await addNode(services, { state: "lost", needs: ["comfyui/t2i_sdxl"] });
    await db
      .update(nodes)
      .set({ seenAt: hoursAgo(25) })
      .where(eq(nodes.id, lost));
    const away = await addNode(services, { state: "lost", needs: ["comfyui/t2i_sd15"] });
    await db
      .update(nodes)
      .set({ seenAt: hoursAgo(23) })
      .where(eq(nodes.id, away));
    const live = await addNode(services);

    await sweep(services);
    expect((await readJob(services, past)).status).not.toBe("failed");

    await db
      .update(nodes)
      .set({ startedAt: hoursAgo(2) })
      .where(eq(nodes.id, live));
    await sweep(services);
    expect(await readJob(services, past)).toMatchObject({ status: "failed", errorCode: "no_engine" });
    expect((await readJob(services, back)).errorCode).toBeNull();
    expect((await readJob(services, local)).errorCode).toBeNull();
  });
});

describe("sweep", () => {
  const words = { kind: "text_to_image", params: { prompt: "a chair" } };
  const sdxl = "comfyui/t2i_sdxl";
  const sd15 = "comfyui/t2i_sd15";

  const scene = openJobScene({ isEmptied: true });

  const submitWords = async (change: object = {}) => {
    const { id } = await submit(scene.services, { ...words, ...change }, { submitter: scene.owner });
    return readJob(scene.services, id);
  };

  describe("D3 placement", () => {
    test("what nothing could run since yesterday is refused with the reason, and stores nothing", async () => {
      await addNode(scene.services);
      await expect(submitWords()).rejects.toMatchObject({
        code: "no_engine",
        message: expect.stringContaining("needs a ComfyUI server; none is connected"),
      });
      expect(await scene.services.db.$count(schema.jobs)).toBe(0);
    });

    test("the sentence names what connected servers lack, and where", async () => {
      const { services } = scene;
      const nodeId = await addNode(services);
      const missing = {
        t2i_sd15: ["model a.safetensors (CheckpointLoaderSimple.ckpt_name)", "node Two"],
        t2i_sdxl: ["model b.safetensors (CheckpointLoaderSimple.ckpt_name)"],
      };
      await addServer(services, { nodeId, url: "http://gpu-1:8188", needs: [], missing });
      await expect(submitWords()).rejects.toMatchObject({
        code: "no_engine",
        message:
          "No connected server has all that a workflow for text_to_image needs. gpu-1:8188 lacks for t2i_sdxl: model b.safetensors (CheckpointLoaderSimple.ckpt_name).",
      });
    });

    test("D4 a workflow that fits the cards goes before one that may be too large for them", async () => {
      const { services } = scene;
      const needs = ["comfyui/t2i_flux1_checkpoint_fp8", "comfyui/t2i_sd15"] as const;
      const nodeId = await addNode(services, { queue: "gpu-medium", needs });
      const tightNeeds = [needs[0]];
      await addServer(services, { nodeId, url: "http://gpu-2:8188", needs, vramGib: 6, tightNeeds });
      const { id } = await submitWords();
      expect(await readJob(services, id)).toMatchObject({ workflow: "t2i_sd15" });
    });

    test("without a named workflow the first goes whose models a live server has", async () => {
      await addNode(scene.services, { queue: "gpu-high", needs: [sd15, sdxl] });
      expect(await submitWords()).toMatchObject({ workflow: "t2i_sdxl", need: sdxl, queue: "gpu-high" });
      const named = await submitWords({ workflow: "t2i_sd15" });
      expect(named).toMatchObject({ workflow: "t2i_sd15", placement: { isLive: true } });
    });

    test("a workflow that nobody knows, or that makes something else, is named", async () => {
      await addNode(scene.services, { queue: "gpu-high", needs: [sdxl] });
      await expect(submitWords({ workflow: "nothing" })).rejects.toMatchObject({ code: "workflow_unknown" });
      await expect(submitWords({ workflow: "upscale_model" })).rejects.toMatchObject({
        code: "workflow_unknown",
      });
    });

    test("params are held against the workflow; defaults and the seed are stored with the job", async () => {
      await addNode(scene.services, { queue: "gpu-high", needs: [sdxl] });
      const { params } = await submitWords();
      expect(params).toMatchObject({ prompt: "a chair", width: 1024, height: 1024 });
      expect(params["seed"]).toEqual(expect.any(Number));
      const wrong = { ...words.params, width: 65 };
      await expect(submitWords({ params: wrong, workflow: "t2i_sdxl" })).rejects.toMatchObject({
        code: "workflow_params",
        message: expect.stringContaining("width"),
      });
    });

    test("of two queues the one with the shorter wait is taken, and why is stored", async () => {
      const { services } = scene;
      await addNode(services, { queue: "gpu-high", needs: [sdxl] });
      await addNode(services, { queue: "gpu-medium", needs: [sdxl], slots: 2 });
      const first = await submitWords();
      const second = await submitWords();
      expect([first.queue, second.queue]).toEqual(["gpu-high", "gpu-medium"]);
      expect(second.placement?.weighed).toContainEqual({
        queue: "gpu-high",
        need: sdxl,
        waitS: 30,
        refused: "busier",
      });
    });

    test("a burst reads the places once, spreads over the queues, and each job waits behind the last", async () => {
      const { services } = scene;
      await addNode(services, { queue: "gpu-high", needs: [sdxl] });
      await addNode(services, { queue: "gpu-medium", needs: [sdxl] });
      const { config } = services;
      const timing = { ...config.timing, placesMs: 60_000 };
      const remembering = { ...services, config: { ...config, timing } };
      // Tests before this one have left their places in memory.
      await estimate(services, words, scene.owner);
      const jobs: Awaited<ReturnType<typeof readJob>>[] = [];
      for (let at = 0; at < 4; at += 1) {
        const { id } = await submit(remembering, words, { submitter: scene.owner });
        jobs.push(await readJob(services, id));
      }
      expect(jobs.map(({ queue }) => queue)).toEqual(["gpu-high", "gpu-medium", "gpu-high", "gpu-medium"]);
      expect(jobs.map(({ estimate }) => estimate?.position)).toEqual([0, 0, 1, 1]);
      // What changes behind its back is not seen, until no node can run the request any more.
      await services.db.update(schema.nodes).set({ state: "draining" });
      await addNode(services, { queue: "gpu-low", needs: [sdxl] });
      const later = await submit(remembering, words, { submitter: scene.owner });
      expect((await readJob(services, later.id)).queue).toBe("gpu-high");
      const { id } = await submit(services, words, { submitter: scene.owner });
      expect((await readJob(services, id)).queue).toBe("gpu-low");
    });

    test("a full line is passed over while another queue has room", async () => {
      const { services } = scene;
      await addNode(services, { queue: "gpu-high", needs: [sdxl], slots: 50 });
      await addNode(services, { queue: "gpu-medium", needs: [sdxl] });
      const full = {
        ...services,
        config: { ...services.config, limits: { ...services.config.limits, maxWaiting: 1 } },
      };
      const queues: string[] = [];
      for (let count = 0; count < 2; count += 1) {
        const { id } = await submit(full, words, { submitter: scene.owner });
        // Nobody claims here: the rows stay in the line.
        await services.db
          .update(schema.jobs)
          .set({ status: "pending", notBefore: sql`now() + interval '1 hour'` })
          .where(eq(schema.jobs.id, id));
        queues.push((await readJob(services, id)).queue);
      }
      expect(queues).toEqual(["gpu-high", "gpu-medium"]);
    });

    test("A10 what a node could do that is away now waits for it, and says so", async () => {
      const { services } = scene;
      const nodeId = await addNode(services, { queue: "gpu-high", needs: [sdxl] });
      await services.db
        .update(schema.nodeQueues)
        .set({ needs: [] })
        .where(eq(schema.nodeQueues.nodeId, nodeId));
      const job = await submitWords();
      expect(job).toMatchObject({ status: "queued", queue: "gpu-high", placement: { isLive: false } });
      expect(await estimate(services, words, scene.owner)).toMatchObject({ isPossible: true, isLive: false });
      expect(job.estimate).toMatchObject({ isLive: false });
      // It is let out as soon as the need is served again.
      await services.db.update(schema.nodeQueues).set({ needs: [sdxl] });
      await sweep(services);
      expect((await readJob(services, job.id)).status).toBe("queued");
    });

    test("waiting jobs move when their queue has lost its last node and another serves the need", async () => {
      const { services } = scene;
      const gone = await addNode(services, { queue: "gpu-high", needs: [sdxl] });
      const job = await submitWords();
      await services.db.update(schema.nodes).set({ state: "gone" }).where(eq(schema.nodes.id, gone));
      await addNode(services, { queue: "gpu-medium", needs: [sdxl] });
      await sweep(services);
      expect(await readJob(services, job.id)).toMatchObject({ queue: "gpu-medium", status: "queued" });
    });

    test("a card with a job before it is taken, not an idle server without one; after many jobs it is the other way", async () => {
      const { services, owner } = scene;
      await addNode(services, { queue: "cpu-intensive", needs: [sdxl] });
      await addNode(services, { queue: "gpu-high", needs: [sdxl] });
      await submitWords();
      const second = await submitWords();
      expect(second.queue).toBe("gpu-high");
      expect(second.placement?.weighed).toContainEqual({
        queue: "cpu-intensive",
        need: sdxl,
        waitS: 0,
        refused: "slower",
      });
      for (let count = 0; count < 40; count += 1) await insertJob(services, { owner });
      await services.db.update(schema.jobs).set({ queue: "gpu-high", need: sdxl });
      expect((await submitWords()).queue).toBe("cpu-intensive");
    });

    test("waiting jobs move although others let them out of the line at that moment", async () => {
      const { services } = scene;
      const gone = await addNode(services, { queue: "gpu-high", needs: [sdxl] });
      await submitWords();
      await services.db.update(schema.nodes).set({ state: "gone" }).where(eq(schema.nodes.id, gone));
      await addNode(services, { queue: "gpu-medium", needs: [sdxl] });
      for (let round = 0; round < 10; round += 1) {
        await services.db.update(schema.jobs).set({ queue: "gpu-high", status: "pending" });
        await Promise.all([
          dispatch(services, "gpu-high"),
          moveStranded(services),
          dispatch(services, "gpu-high"),
        ]);
        const [job] = await services.db.select().from(schema.jobs);
        expect(job).toMatchObject({ queue: "gpu-medium" });
      }
    });

    test("F25 while the cards are away for a moment nothing moves to the CPU unasked", async () => {
      const { services } = scene;
      const cards = await addNode(services, { queue: "gpu-high", needs: [sdxl] });
      await addNode(services, { needs: [sdxl] });
      const job = await submitWords();
      await services.db
        .update(schema.nodeQueues)
        .set({ slots: 0 })
        .where(eq(schema.nodeQueues.nodeId, cards));
      await sweep(services);
      expect((await readJob(services, job.id)).queue).toBe("gpu-high");
    });

    test("settings lead to a workflow that takes them", async () => {
      const { services } = scene;
      await addNode(services, { queue: "gpu-high", needs: ["comfyui/upscale_hires_fix"] });
      await addNode(services, { queue: "gpu-medium", needs: ["comfyui/upscale_model"] });
      const request = { kind: "upscale", params: { scale: 4 }, inputs: { image: scene.owner.imageId } };
      const { id } = await submit(services, request, { submitter: scene.owner });
      expect(await readJob(services, id)).toMatchObject({ workflow: "upscale_model", params: { scale: 4 } });
    });

    test("an engine that is asked for by name is kept to", async () => {
      const { services } = scene;
      await addNode(services, { queue: "gpu-high", needs: ["comfyui/upscale_model"] });
      await addNode(services);
      const request = { kind: "upscale", inputs: { image: scene.owner.imageId } };
      const best = await submit(services, request, { submitter: scene.owner });
      expect(await readJob(services, best.id)).toMatchObject({ engine: "comfyui" });
      const named = await submit(services, { ...request, engine: "local" }, { submitter: scene.owner });
      expect(await readJob(services, named.id)).toMatchObject({ engine: "local", need: "local/upscale" });
    });

    test("jobs.estimate says what stands before a job and what past runs took", async () => {
      const { services } = scene;
      await addNode(services);
      const request = { kind: "upscale", engine: "local", inputs: { image: scene.owner.imageId } };
      expect(await estimate(services, request, scene.owner)).toMatchObject({
        position: 0,
        waitMs: [0, 0],
        runs: 0,
      });
      const done = await addJob(services, { owner: scene.owner });
      await services.db
        .update(schema.jobs)
        .set({ status: "completed", startedAt: sql`now() - interval '8 seconds'`, endedAt: sql`now()` })
        .where(eq(schema.jobs.id, done));
      for (let count = 0; count < 3; count += 1) await addJob(services, { owner: scene.owner });
      const expected = { isPossible: true, queue: testQueue, position: 3, runs: 1, runMs: [8_000, 8_000] };
      // What past runs took is believed for two seconds.
      await vi.waitFor(
        async () => expect(await estimate(services, request, scene.owner)).toMatchObject(expected),
        10_000,
      );
    });
  });
});

test("D3 a repair that fails holds up none of the others, and is told at the end", async () => {
  const opened = await createTestServices();
  const { services } = opened;
  const owner = await addOwner(services);
  const lost = await addNode(services, { state: "lost" });
  const dead = await insertJob(services, { owner, once: true });
  await services.db.execute(
    sql`update jobs set status = 'processing', attempt = 1, node_id = ${lost} where id = ${dead}`,
  );
  await services.db.execute(sql`create function refuse_failed() returns trigger language plpgsql as
    $$ begin if new.status = 'failed' then raise exception 'refused'; end if; return new; end $$`);
  await services.db.execute(
    sql`create trigger refuse_failed before update on jobs for each row execute function refuse_failed()`,
  );
  await addNode(services);
  const waiting = await insertJob(services, { owner });
  await expect(sweep(services)).rejects.toThrow(/update/);
  expect(await readJob(services, waiting)).toMatchObject({ status: "queued" });
  expect(await readJob(services, dead)).toMatchObject({ status: "processing" });
  await services.db.execute(sql`drop trigger refuse_failed on jobs`);
  await sweep(services);
  expect(await readJob(services, dead)).toMatchObject({ status: "failed" });
  await opened.close();
});
