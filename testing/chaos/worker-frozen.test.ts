import path from "node:path";
import { isDeepStrictEqual } from "node:util";
import { setTimeout as sleep } from "node:timers/promises";
import { pathToFileURL } from "node:url";
import { schema } from "@atelier/server/db";
import { drainNode } from "@atelier/server/nodes";
import { eq } from "drizzle-orm";
import { expect, vi } from "vitest";
import { backends, forBackends, forCases, realTimeMs } from "../cases/index.ts";
import { listObjects } from "../pictures/index.ts";
import { addJob, readJob, readStory, until, untilAll } from "../jobs/index.ts";
import { eventually, openScene, type Scene } from "./scene.ts";

/** The product's own lease times, which are what these tests are about. */
const config = "real";
/** How long the requirement stops the first worker. */
const stopMs = 20_000;

forBackends(
  "F10 E7 two workers hold one job on %s: the one that was stopped for 20 s writes nothing and serves on as a new node",
  async (backend, { onTestFinished }) => {
    const scene = await openScene(onTestFinished, { backend });
    const { services, owner } = scene;
    const late = await scene.startWorker({ config, name: "late", script: { hang: true } });
    const id = await addJob(services, { owner });
    await late.waitFor(new RegExp(`engine-start ${id}`));
    // Before the other starts, which may take longer than the run where many start.
    late.stop();
    const stoppedMs = performance.now();
    const other = await scene.startWorker({ config, name: "other" });
    await untilAll(services, [id], { statuses: ["completed"], patienceMs: 60_000 });
    await sleep(Math.max(1, stopMs - (performance.now() - stoppedMs)));
    const before = [await readJob(services, id), await readStory(services, id), await listObjects(services)];
    // Its run ends as soon as it goes on, so it tries to complete.
    late.release();
    late.cont();
    await late.waitFor(/this node was marked lost/);
    await late.waitFor(/"outcome":"fenced"/);
    await late.waitFor(/node registered[^]*node registered/);
    const after = [await readJob(services, id), await readStory(services, id), await listObjects(services)];
    expect(after).toEqual(before);
    expect(await readJob(services, id)).toMatchObject({ attempt: 2, charged: 1 });
    await other.kill9();
    const next = await addJob(services, { owner, simulate: { runMs: 20 } });
    const { nodeId, attempt } = await until(services, next, "completed");
    expect(nodeId).not.toBe((await readStory(services, id))[2]?.data["nodeId"]);
    expect(attempt).toBe(1);
    expect(late.output()).toContain(`engine-done ${next}`);
    expect(await scene.faults()).toEqual([]);
  },
);

/** A node that watches the others and takes no jobs. */
async function startWatching(scene: Scene): Promise<void> {
  const watching = await scene.startWorker({ config, name: "watching" });
  const [node] = await scene.services.db.select().from(schema.nodes).where(eq(schema.nodes.name, "watching"));
  await drainNode(scene.services, { id: node?.id ?? "" });
  await watching.waitFor(/"queue left"/);
}

/** Stops a worker for 5 s under a job: how the job ended, and how long the node was without a beat. */
async function stopUnderJob(scene: Scene) {
  const { services, owner } = scene;
  const worker = await scene.startWorker({ config, name: "stopped", script: { hang: true } });
  const id = await addJob(services, { owner });
  await worker.waitFor(new RegExp(`engine-start ${id}`));
  const { nodeId } = await readJob(services, id);
  const readNode = async () => {
    const { nodes } = schema;
    const [node] = await services.db
      .select()
      .from(nodes)
      .where(eq(nodes.id, nodeId ?? ""));
    return { state: node?.state, counter: node?.counter };
  };
  worker.stop();
  const stoppedMs = performance.now();
  await sleep(5_000);
  const before = await readNode();
  worker.cont();
  await vi.waitUntil(async () => !isDeepStrictEqual(await readNode(), before), { timeout: realTimeMs });
  const silentMs = performance.now() - stoppedMs;
  worker.release();
  const job = await until(services, id, "completed");
  await worker.kill9();
  return { job, nodeId, silentMs };
}

forCases(
  "F10 A3 a worker stopped for 5 s on %s loses nothing and is charged nothing",
  { usual: [], others: backends },
  async (backend, { onTestFinished }) => {
    const scene = await openScene(onTestFinished, { backend });
    await startWatching(scene);
    // A machine that holds the worker up as well has stopped it for longer.
    let stopped = await stopUnderJob(scene);
    for (let tries = 1; tries < 3 && stopped.silentMs > 6_000; tries += 1)
      stopped = await stopUnderJob(scene);
    expect(stopped.job).toMatchObject({ nodeId: stopped.nodeId, attempt: 1, charged: 0 });
    expect(await scene.faults()).toEqual([]);
  },
);

forCases(
  "F10 D9 a worker on %s whose main thread is blocked for 8 s is not called lost",
  { usual: [], others: backends },
  async (backend, { onTestFinished }) => {
    const scene = await openScene(onTestFinished, { backend });
    const { services, owner } = scene;
    const worker = await scene.startWorker({ config, name: "blocked", script: { blockMs: 8_000 } });
    await startWatching(scene);
    const id = await addJob(services, { owner });
    await worker.waitFor(new RegExp(`engine-start ${id}`));
    const { nodeId } = await readJob(services, id);
    expect(await until(services, id, "completed")).toMatchObject({ nodeId, attempt: 1, charged: 0 });
    expect(worker.output()).not.toContain("this node was marked lost");
    expect(await scene.faults()).toEqual([]);
  },
);

const slowBeat = pathToFileURL(path.join(import.meta.dirname, "../worker/slow-beat.ts")).href;
/** Longer than the time after which a node without a beat is called lost. */
const lateMs = 10_000;

forCases(
  "F10 D9 a worker on %s whose beat takes 10 s to start, as on a busy machine, is not called lost before it",
  { usual: ["postgres"], others: [] } as const,
  async (backend, { onTestFinished }) => {
    const scene = await openScene(onTestFinished, { backend });
    const { db } = scene.services;
    await scene.startWorker({ config, name: "watching" });
    const env = {
      NODE_OPTIONS: `--import=${slowBeat}`,
      ATELIER_TEST_BEAT_STARTS_AFTER_MS: String(lateMs),
    };
    const late = await scene.startWorker({ config, name: "late", env });
    const readLate = async () => {
      const rows = await db.select().from(schema.nodes).where(eq(schema.nodes.name, "late"));
      return rows.map(({ state, counter }) => ({ state, hasBeaten: counter > 0 }));
    };
    await eventually(readLate, [{ state: "active", hasBeaten: true }], 90_000);
    expect(late.output()).toContain("the beat is held");
    expect(late.output()).not.toContain("this node was marked lost");
    expect(await scene.faults()).toEqual([]);
  },
);
