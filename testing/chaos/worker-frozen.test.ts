import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { pathToFileURL } from "node:url";
import { schema } from "@atelier/server/db";
import { eq } from "drizzle-orm";
import { expect } from "vitest";
import { backends, forBackends, forCases } from "../cases/index.ts";
import { listObjects } from "../pictures/index.ts";
import { addJob, readJob, readStory, until, untilAll } from "../jobs/index.ts";
import { eventually, openScene } from "./scene.ts";

/** How long the requirement stops the first worker. */
const stopMs = 20_000;
/** Its run would have ended while it was stopped, so it tries to complete as soon as it goes on. */
const runMs = 15_000;

forBackends(
  "F10 E7 two workers hold one job on %s: the one that was stopped for 20 s writes nothing and serves on as a new node",
  async (backend, { onTestFinished }) => {
    const scene = await openScene(onTestFinished, { backend });
    const { services, owner } = scene;
    const late = await scene.startWorker({ name: "late", script: { runMs } });
    const id = await addJob(services, { owner });
    await late.waitFor(new RegExp(`engine-start ${id}`));
    // Before the other starts, which may take longer than the run where many start.
    late.stop();
    const stoppedMs = performance.now();
    const other = await scene.startWorker({ name: "other" });
    await untilAll(services, [id], { statuses: ["completed"], patienceMs: 60_000 });
    await sleep(stopMs - (performance.now() - stoppedMs));
    const before = [await readJob(services, id), await readStory(services, id), await listObjects(services)];
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

forCases(
  "F10 A3 a worker stopped for 5 s on %s loses nothing and is charged nothing",
  { usual: [], others: backends },
  async (backend, { onTestFinished }) => {
    const scene = await openScene(onTestFinished, { backend });
    const { services, owner } = scene;
    const worker = await scene.startWorker({ name: "stopped", script: { runMs } });
    const id = await addJob(services, { owner });
    await worker.waitFor(new RegExp(`engine-start ${id}`));
    await scene.startWorker({ name: "watching" });
    const { nodeId } = await readJob(services, id);
    worker.stop();
    await sleep(5_000);
    worker.cont();
    expect(await until(services, id, "completed")).toMatchObject({ nodeId, attempt: 1, charged: 0 });
    expect(await scene.faults()).toEqual([]);
  },
);

forCases(
  "F10 D9 a worker on %s whose main thread is blocked for 8 s is not called lost",
  { usual: [], others: backends },
  async (backend, { onTestFinished }) => {
    const scene = await openScene(onTestFinished, { backend });
    const { services, owner } = scene;
    const worker = await scene.startWorker({ name: "blocked", script: { blockMs: 8_000 } });
    const id = await addJob(services, { owner });
    await worker.waitFor(new RegExp(`engine-start ${id}`));
    await scene.startWorker({ name: "watching" });
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
    await scene.startWorker({ name: "watching" });
    const env = {
      NODE_OPTIONS: `--import=${slowBeat}`,
      ATELIER_TEST_BEAT_STARTS_AFTER_MS: String(lateMs),
    };
    const late = await scene.startWorker({ name: "late", env });
    const readLate = async () => {
      const rows = await db.select().from(schema.nodes).where(eq(schema.nodes.name, "late"));
      return rows.map(({ state, counter }) => ({ state, hasBeaten: counter > 0 }));
    };
    await eventually(readLate, [{ state: "active", hasBeaten: true }]);
    expect(late.output()).toContain("the beat is held");
    expect(late.output()).not.toContain("this node was marked lost");
    expect(await scene.faults()).toEqual([]);
  },
);
