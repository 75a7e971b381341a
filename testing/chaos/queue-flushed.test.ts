// @module-tag all
import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { submit } from "@atelier/server/jobs";
import { realTimeMs } from "../cases/index.ts";
import { untilAll } from "../jobs/index.ts";
import { startRedis } from "../redis/index.ts";
import { measureWithin, openScene, type Scene } from "./scene.ts";
import type { TestWorker } from "../worker/index.ts";

const runMs = 150;
/** How long the fault of the requirement lasts. */
const awayMs = 3_000;
/** The bound of R4 and F12: from the return of the workers, or of Redis, to the last completion. */
const withinMs = 15_000;

async function submitMany(scene: Scene, count: number): Promise<string[]> {
  const request = { kind: "upscale", inputs: { image: scene.owner.imageId } };
  const submits = Array.from({ length: count }, () =>
    submit(scene.services, request, { submitter: scene.owner }),
  );
  return (await Promise.all(submits)).map(({ id }) => id);
}

/** Each of the jobs was begun and completed exactly once, by whichever worker. */
function expectOnce(workers: readonly TestWorker[], ids: readonly string[]): void {
  const runs = (line: string) => workers.reduce((sum, worker) => sum + worker.count(line), 0);
  expect(ids.filter((id) => runs(`engine-start ${id}`) !== 1)).toEqual([]);
  expect(ids.filter((id) => runs(`engine-done ${id}`) !== 1)).toEqual([]);
}

test.concurrent(
  "F12 R4 FLUSHALL under load loses nothing: 60 jobs complete, each once",
  { timeout: realTimeMs },
  async ({ onTestFinished }) => {
    const redis = await startRedis();
    onTestFinished(() => redis.destroy());
    const scene = await openScene(onTestFinished, { env: { REDIS_URL: redis.url } });
    const options = { slots: 2, script: { runMs } } as const;
    const workers = await Promise.all([
      scene.startWorker({ ...options, name: "one" }),
      scene.startWorker({ ...options, name: "two" }),
    ]);
    const ids: string[] = [];
    for (let wave = 0; wave < 5; wave += 1) {
      ids.push(...(await submitMany(scene, 11)));
      await redis.flushAll();
      await untilAll(scene.services, ids.slice(0, -5), { statuses: ["completed"] });
    }
    // Idle workers run on no earlier job's end: these start by nothing but their lost bells.
    await untilAll(scene.services, ids, { statuses: ["completed"] });
    const readTakenMs = async () => {
      for (const worker of workers) worker.stop();
      ids.push(...(await submitMany(scene, 5)));
      await redis.flushAll();
      for (const worker of workers) worker.cont();
      const wentOnMs = performance.now();
      await untilAll(scene.services, ids, { statuses: ["completed"] });
      return performance.now() - wentOnMs;
    };
    expect(await measureWithin(withinMs, readTakenMs)).toBeLessThan(withinMs);
    const jobs = await untilAll(scene.services, ids, { statuses: ["completed"] });
    expect(jobs.filter((job) => job.attempt !== 1 || job.charged !== 0)).toEqual([]);
    expectOnce(workers, ids);
    expect(await scene.faults()).toEqual([]);
  },
);

test.concurrent(
  "F12 A3 Redis killed for 3 s: submits are accepted meanwhile, and every job completes once",
  { timeout: realTimeMs },
  async ({ onTestFinished }) => {
    const redis = await startRedis();
    onTestFinished(() => redis.destroy());
    const scene = await openScene(onTestFinished, { env: { REDIS_URL: redis.url } });
    const worker = await scene.startWorker({ script: { runMs } });
    const ids: string[] = [];
    const readTakenMs = async () => {
      const before = await submitMany(scene, 5);
      await untilAll(scene.services, before.slice(0, 1), { statuses: ["completed"] });
      await redis.kill9();
      ids.push(...before, ...(await submitMany(scene, 5)));
      await sleep(awayMs);
      await redis.start();
      const backMs = performance.now();
      await untilAll(scene.services, ids, { statuses: ["completed"] });
      return performance.now() - backMs;
    };
    expect(await measureWithin(withinMs, readTakenMs)).toBeLessThan(withinMs);
    const jobs = await untilAll(scene.services, ids, { statuses: ["completed"] });
    expect(jobs.filter((job) => job.charged !== 0)).toEqual([]);
    expectOnce([worker], ids);
    expect(await scene.faults()).toEqual([]);
  },
);
