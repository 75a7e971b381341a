import { writeFile } from "node:fs/promises";
import path from "node:path";
import { cancelBatch, getBatch, submitBatch } from "@atelier/server/batches";
import { schema } from "@atelier/server/db";
import { ingest } from "@atelier/server/images";
import { submit } from "@atelier/server/jobs";
import { loadConfig } from "@atelier/server/platform";
import { forBackendSuites, inAll } from "@atelier/testing/cases";
import { startComfySimulator } from "@atelier/testing/comfyui";
import { addJob, addOwner, readJob, readStory, until, type TestOwner } from "@atelier/testing/jobs";
import { findProgram, killAtExit, runNode } from "@atelier/testing/processes";
import { createTestServices, type TestServices } from "@atelier/testing/services";
import { processEnv } from "@atelier/testing/worker";
import { eq } from "drizzle-orm";
import sharp from "sharp";
import { afterAll, beforeAll, expect, test } from "vitest";

const main = path.join(import.meta.dirname, "./main.ts");

/** Two CPU classes that any machine satisfies, the lighter one last; at SIGTERM runs are handed back at once. */
const config = `export default {
  queues: {
    "gpu-high": { minVramGib: 8, onDemand: { startS: 60, workflows: ["t2i_sdxl"] } }, "cpu-intensive": {}, "cpu-light": {},
  },
  timing: { stopGraceMs: 5_000 },
};`;

/** Each test starts whole processes with the real engine, one after another. */
const oneByOne = { timeout: 180_000, concurrent: false };

forBackendSuites("on %s", (backend) => {
  let opened: TestServices;
  let owner: TestOwner;
  let configFile: string;
  let program: readonly string[];

  beforeAll(async () => {
    opened = await createTestServices({ backend });
    program = await findProgram("worker/main.ts");
    owner = await addOwner(opened.services);
    configFile = path.join(opened.services.env.ATELIER_DATA_DIR, "once.config.mjs");
    await writeFile(configFile, config);
  });
  afterAll(() => opened.close());

  /** The product's own worker process. */
  function startOnce(...args: readonly string[]) {
    return startOnceWith({}, ...args);
  }
  function startOnceWith(env: Readonly<Record<string, string>>, ...args: readonly string[]) {
    const run = runNode([...program, "--once", ...args], {
      ...processEnv(opened.services),
      LOG_LEVEL: "info",
      ATELIER_CONFIG: configFile,
      WORKER_NAME: "machine",
      // Must change nothing: this mode knows no servers.
      COMFYUI_URLS: "http://127.0.0.1:1",
      ...env,
    });
    killAtExit(run.child);
    return run;
  }
  /** Services of a process that reads the same configuration. */
  async function withQueues(): Promise<TestServices["services"]> {
    return { ...opened.services, config: await loadConfig(configFile) };
  }
  const readNodes = () => opened.services.db.select().from(schema.nodes);
  const readQueues = () => opened.services.db.select().from(schema.nodeQueues);

  test(
    "D4 takes one job of the lightest CPU queue, finishes it, leaves and ends with 0",
    { ...oneByOne, ...inAll },
    async () => {
      const { services } = opened;
      const { userId, imageId } = owner;
      const first = await addJob(services, { owner });
      const { id: batchId, jobIds } = await submitBatch(
        services,
        { jobs: [{ kind: "upscale", inputs: { image: imageId }, steps: [{ kind: "upscale" }] }] },
        { submitter: { userId, isGuest: false }, signal: new AbortController().signal },
      );
      const ids = [first, ...jobIds];
      const run = startOnce();
      expect([await run.ended, run.output()]).toEqual([0, expect.stringContaining("job taken")]);
      const jobs = await Promise.all(ids.map((id) => readJob(opened.services, id)));
      expect(jobs.map(({ status }) => status)).toEqual([
        "completed",
        expect.stringMatching(/pending|queued/),
      ]);
      expect(await readNodes()).toMatchObject([{ name: "machine-once", state: "gone", processed: 1 }]);
      expect(await readQueues()).toMatchObject([{ queue: "cpu-light", slots: 1 }]);
      for (const { needs } of await readQueues())
        expect(needs.every((need) => need.startsWith("local/"))).toBe(true);
      // The next one takes the other.
      expect(await startOnce().ended).toBe(0);
      expect(await readJob(services, ids[1] ?? "")).toMatchObject({ status: "completed" });
      // What follows it waits for the one after.
      const { jobs: places } = await getBatch(services, { ownerId: userId, id: batchId });
      expect(places).toMatchObject([
        { job: { status: expect.stringMatching(/pending|queued/) }, steps: { begun: 1 } },
      ]);
      expect(await cancelBatch(services, { ownerId: userId, id: batchId })).toEqual({ cancelled: 1 });
    },
  );

  test(
    "S8 --queue takes what waits in the queue until nothing is left, and ends with 0",
    oneByOne,
    async () => {
      const services = await withQueues();
      const words = { kind: "text_to_image", params: { prompt: "a cup" } } as const;
      const { userId } = owner;
      const submitter = { userId, isGuest: false };
      const made = [];
      for (let i = 0; i < 3; i += 1) made.push((await submit(services, words, { submitter })).id);
      const other = await addJob(services, { owner });
      const comfy = await startComfySimulator();
      try {
        const run = startOnceWith({ COMFYUI_URLS: comfy.url }, "--queue", "gpu-high", "--wait", "1");
        expect([await run.ended, run.output()]).toEqual([0, expect.stringContaining("nothing is left")]);
        const jobs = await Promise.all(made.map((id) => readJob(services, id)));
        expect(jobs.map(({ status, queue }) => [status, queue])).toEqual(
          made.map(() => ["completed", "gpu-high"]),
        );
        // It took nothing of another queue.
        expect((await readJob(services, other)).status).toMatch(/pending|queued/);
        const [node] = await services.db.select().from(schema.nodes).where(eq(schema.nodes.processed, 3));
        expect(node).toMatchObject({ name: "machine-once", state: "gone" });
      } finally {
        await comfy.close();
      }
      const unknown = startOnceWith({}, "--queue", "gpu-none");
      expect([await unknown.ended, unknown.output()]).toEqual([1, expect.stringContaining("gpu-high")]);
      expect(await startOnce().ended).toBe(0);
    },
  );

  test("D4 ends with 0 when no job comes within its time", { ...oneByOne, ...inAll }, async () => {
    const run = startOnce("--wait", "0.5");
    expect([await run.ended, run.output()]).toEqual([0, expect.stringContaining("no job came")]);
    const states = (await readNodes()).map(({ state }) => state);
    expect([states.length > 0, ...new Set(states)]).toEqual([true, "gone"]);
  });

  test("D4 takes a job that comes while it waits", { ...oneByOne, ...inAll }, async () => {
    const run = startOnce("--wait", "60");
    await run.seen(/node registered/);
    const id = await addJob(opened.services, { owner });
    expect(await run.ended).toBe(0);
    expect(await readJob(opened.services, id)).toMatchObject({ status: "completed" });
  });

  test("D4 A17 SIGTERM hands its job back, and one that waits ends at once", oneByOne, async () => {
    const { services } = opened;
    const idle = startOnce("--wait", "600");
    await idle.seen(/node registered/);
    idle.child.kill("SIGTERM");
    expect(await idle.ended).toBe(0);
    const create = { width: 1_600, height: 1_600, channels: 3 as const, background: "teal" };
    const bytes = await sharp({ create }).png().toBuffer();
    const large = await ingest(services, { ownerId: owner.userId, role: "upload", bytes, name: "large.png" });
    const id = await addJob(services, { owner: { ...owner, imageId: large.id } });
    const run = startOnce();
    await until(services, id, "processing");
    run.child.kill("SIGTERM");
    expect(await run.ended).toBe(0);
    expect(run.output()).toContain('"outcome":"handed_back"');
    expect(await readJob(services, id)).toMatchObject({ charged: 0, nodeId: null });
    expect((await readStory(services, id)).map(({ type }) => type)).toContain("handed_back");
  });
});

test("D4 a wrong flag ends the start with how to use it", inAll, async () => {
  const run = runNode([main, "--twice"]);
  expect([await run.ended, run.output()]).toEqual([1, expect.stringContaining("Usage: worker")]);
});
