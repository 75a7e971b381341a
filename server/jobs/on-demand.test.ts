import { addNode, addOwner, readJob, type TestOwner } from "@atelier/testing/jobs";
import { createTestServices, type TestServices } from "@atelier/testing/services";
import { eq, sql } from "drizzle-orm";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { schema } from "../db/index.ts";
import type { Need } from "../engines.ts";
import { pruneNeeds } from "../nodes/index.ts";
import { offeredWorkflows, readPlaces, startingWait } from "../scheduling/index.ts";
import { readCapabilities } from "./capabilities.ts";
import { estimate, readWaiting } from "./estimate.ts";
import { submit } from "./submit.ts";
import { sweep } from "./sweep.ts";

const need = "comfyui/t2i_sdxl";
const request = { kind: "text_to_image", params: { prompt: "a cup" } } as const;

describe("started on demand", () => {
  let opened: TestServices;
  let owner: TestOwner;
  beforeAll(async () => {
    const gpu = { minVramGib: 8, onDemand: { startS: 180, workflows: ["t2i_sdxl"] } };
    opened = await createTestServices({
      config: { queues: { "gpu-high": gpu, "gpu-slow": { minVramGib: 4 }, "cpu-light": {} } },
    });
    owner = await addOwner(opened.services);
  });
  afterAll(() => opened.close());
  beforeEach(async () => {
    await opened.services.db.delete(schema.jobs);
    await opened.services.db.delete(schema.nodes);
  });

  const hoursAgo = (hours: number) => sql`now() - make_interval(hours => ${hours})`;
  const waitsSince = (id: string, seconds: number) =>
    opened.services.db
      .update(schema.jobs)
      .set({ createdAt: sql`now() - make_interval(secs => ${seconds})` })
      .where(eq(schema.jobs.id, id));

  test("S8 a job is accepted though no worker was ever there, and is told what it waits for", async () => {
    const { services } = opened;
    const told = await estimate(services, request, owner);
    expect(told).toMatchObject({ isPossible: true, queue: "gpu-high", awaits: "start", isLive: false });
    expect(told).toMatchObject({ waitMs: [180_000, 180_000], reason: expect.stringContaining("is started") });
    const { id } = await submit(services, request, { submitter: owner });
    await waitsSince(id, 60);
    const [item] = (await readWaiting(services, owner.userId)).items;
    expect(item).toMatchObject({ id, awaits: "start" });
    expect(item?.waitMs[0]).toBeGreaterThan(110_000);
    expect(item?.waitMs[0]).toBeLessThanOrEqual(120_000);
    const { items } = await readCapabilities(services, { mayUseCloud: false });
    expect(items.find(({ kind }) => kind === "text_to_image")).toMatchObject({ available: true });
    const offered = await offeredWorkflows(services.db, services.config);
    expect(offered.filter(({ isLive }) => isLive).map(({ name }) => name)).toEqual(["t2i_sdxl"]);
  });

  test("S8 nothing refuses its jobs after a day, also what only a worker of long ago could do", async () => {
    const { services } = opened;
    const { nodes } = schema;
    const gone = await addNode(services, { queue: "gpu-high", needs: ["comfyui/t2i_sd15"], state: "gone" });
    const live = await addNode(services, { queue: "cpu-light" });
    await services.db
      .update(nodes)
      .set({ seenAt: hoursAgo(200) })
      .where(eq(nodes.id, gone));
    await services.db
      .update(nodes)
      .set({ startedAt: hoursAgo(300) })
      .where(eq(nodes.id, live));
    await pruneNeeds(services);
    const { id } = await submit(services, { ...request, workflow: "t2i_sd15" }, { submitter: owner });
    await waitsSince(id, 200 * 3_600);
    await sweep(services);
    expect(await readJob(services, id)).toMatchObject({
      status: "queued",
      queue: "gpu-high",
      errorCode: null,
    });
  });

  test("S8 a live but busy place keeps a job while it is done sooner there, else one is started", async () => {
    const { services } = opened;
    await addNode(services, { queue: "gpu-slow", needs: [need], slots: 1 });
    const queueNow = async () => {
      const told = await estimate(services, request, owner);
      return told.isPossible ? told.queue : null;
    };
    expect(await queueNow()).toBe("gpu-slow");
    const made = [];
    for (let i = 0; i < 10; i += 1) made.push(await submit(services, request, { submitter: owner }));
    const queues = await Promise.all(made.map(async ({ id }) => (await readJob(services, id)).queue));
    // 30 s each without past runs: after six of them a start of 180 s is sooner, and then the lines grow side by side.
    expect(new Set(queues.slice(0, 6))).toEqual(new Set(["gpu-slow"]));
    expect(new Set(queues.slice(7))).toEqual(new Set(["gpu-high", "gpu-slow"]));
  });

  test("S8 jobs stay in the queue while the start may take, and move on when it does not come", async () => {
    const { services } = opened;
    const { id } = await submit(services, request, { submitter: owner });
    await addNode(services, { queue: "gpu-slow", needs: [need] });
    await waitsSince(id, 300);
    await sweep(services);
    expect(await readJob(services, id)).toMatchObject({ queue: "gpu-high" });
    await waitsSince(id, 600);
    // A worker that could run it ended a minute ago: the next start may take its time.
    const last = await addNode(services, { queue: "gpu-high", needs: [need], state: "gone" });
    await services.db
      .update(schema.nodes)
      .set({ seenAt: sql`now() - interval '1 minute'` })
      .where(eq(schema.nodes.id, last));
    await sweep(services);
    expect(await readJob(services, id)).toMatchObject({ queue: "gpu-high" });
    await services.db.delete(schema.nodes).where(eq(schema.nodes.id, last));
    await sweep(services);
    expect(await readJob(services, id)).toMatchObject({ queue: "gpu-slow" });
  });

  test("S8 a job that the workers started for it cannot run fails; one that none came for waits", async () => {
    const { services } = opened;
    const { nodes } = schema;
    const words = { ...request, workflow: "t2i_sdxl" };
    const { id } = await submit(services, words, { submitter: owner });
    await waitsSince(id, 900);
    const starts = async (state: "active" | "gone", fromS: number, toS: number, needs: readonly Need[]) => {
      const node = await addNode(services, { queue: "gpu-high", needs, state });
      const secondsAgo = (seconds: number) => sql`now() - make_interval(secs => ${seconds})`;
      await services.db
        .update(nodes)
        .set({ startedAt: secondsAgo(fromS), seenAt: secondsAgo(toS) })
        .where(eq(nodes.id, node));
    };
    const statusNow = async () => {
      await sweep(services);
      return (await readJob(services, id)).status;
    };
    // Of before its submit, without a server, and two that had one.
    await starts("gone", 5_000, 1_000, ["comfyui/t2i_sd15"]);
    for (let i = 0; i < 3; i += 1) await starts("gone", 800, 100, []);
    await starts("gone", 800, 780, ["comfyui/t2i_sd15"]);
    await starts("gone", 700, 680, ["comfyui/t2i_sd15"]);
    expect(await statusNow()).toBe("queued");
    await starts("active", 700, 0, ["comfyui/t2i_sd15"]);
    expect(await statusNow()).toBe("failed");
    expect(await readJob(services, id)).toMatchObject({ errorCode: "no_engine" });
    // One that could run it a while ago makes it wait, however many came.
    await starts("gone", 9_000, 8_000, [need]);
    const other = await submit(services, words, { submitter: owner });
    await waitsSince(other.id, 900);
    await sweep(services);
    expect(await readJob(services, other.id)).toMatchObject({ status: "queued" });
  });

  test("S8 what a start was expected to take is kept apart from the waits that estimates learn from", async () => {
    const { services } = opened;
    const { id } = await submit(services, request, { submitter: owner });
    expect((await readJob(services, id)).estimate).not.toHaveProperty("meanMs");
  });

  test("S8 a start that does not come is counted on no more, and the line after it counts where it does", async () => {
    const { services } = opened;
    const places = async () => (await readPlaces(services.db, services.config, [need]))[0];
    const { id } = await submit(services, request, { submitter: owner });
    expect(await places()).toMatchObject({ queue: "gpu-high", startMs: 180_000, awayMs: 0 });
    await waitsSince(id, 601);
    const late = await places();
    expect(late).toMatchObject({ queue: "gpu-high", startMs: null });
    expect(late?.awayMs).toBeGreaterThanOrEqual(600_000);
    const cost = {
      meanMs: 30_000,
      varianceMs2: 0,
      runsMs: [],
      isMeasured: false,
      isOfQueue: false,
      waitRange: null,
    };
    const line = { position: 3, isLive: false, awaits: null, waitMs: [0, 0], sureMs: 0, meanMs: 0 } as const;
    const wait = startingWait({ ...line, quality: "assumed", cost }, 180_000);
    expect(wait).toMatchObject({ meanMs: 270_000, sureMs: 180_000, waitMs: [180_000, 270_000] });
  });
});
