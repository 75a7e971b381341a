import { healthResponse } from "@atelier/server/api";
import { submit } from "@atelier/server/jobs";
import { expect, test } from "vitest";
import { forCases, realTimeMs } from "../cases/index.ts";
import { until, untilAll } from "../jobs/index.ts";
import { startRedis, type TestRedis } from "../redis/index.ts";
import { eventually, openScene, type Scene } from "./scene.ts";

async function submitMany({ services, owner }: Scene, count: number): Promise<string[]> {
  const request = { kind: "upscale", inputs: { image: owner.imageId } };
  const submits = Array.from({ length: count }, () => submit(services, request, { submitter: owner }));
  return (await Promise.all(submits)).map(({ id }) => id);
}

/** What `/api/health` says of the queue. */
async function readQueue({ services }: Scene): Promise<{ ok: boolean; reason: string | null }> {
  const { queue } = (await (await healthResponse(services)).json()) as {
    queue: { ok: boolean; reason: string | null };
  };
  return { ok: queue.ok, reason: queue.reason };
}

const well = { ok: true, reason: null };
const refusing = { ok: false, reason: "The queue does not answer or takes no writes." };

test.concurrent(
  "F14 A3 Redis fails over to an empty copy under load: every job completes once, and bells ring again",
  { timeout: realTimeMs },
  async ({ onTestFinished }) => {
    const redis = await startRedis();
    onTestFinished(() => redis.destroy());
    const scene = await openScene(onTestFinished, { env: { REDIS_URL: redis.url } });
    const worker = await scene.startWorker({ slots: 2, script: { runMs: 200 } });
    const ids = await submitMany(scene, 10);
    await untilAll(scene.services, ids.slice(0, 2), { statuses: ["completed"] });
    await redis.failOver();
    ids.push(...(await submitMany(scene, 10)));
    const jobs = await untilAll(scene.services, ids, { statuses: ["completed"] });
    expect(jobs.filter(({ attempt, charged }) => attempt !== 1 || charged !== 0)).toEqual([]);
    expect(ids.filter((id) => worker.count(`engine-start ${id}`) !== 1)).toEqual([]);
    // The sweep may have claimed all of them without a bell; the bell of one more job must reach the new Redis.
    await untilAll(scene.services, await submitMany(scene, 1), { statuses: ["completed"] });
    const hasBells = async () => /atelier:cpu-.*:events/.test(await redis.send("KEYS atelier:*"));
    await eventually(hasBells, true);
    await eventually(() => readQueue(scene), well);
    expect(await scene.faults()).toEqual([]);
  },
);

const refusals = [
  {
    what: "its memory is full",
    begin: (redis: TestRedis) => redis.send("CONFIG SET maxmemory 1"),
    end: (redis: TestRedis) => redis.send("CONFIG SET maxmemory 0"),
  },
  {
    what: "it is read-only",
    begin: (redis: TestRedis) => redis.send("REPLICAOF 127.0.0.1 1"),
    end: (redis: TestRedis) => redis.send("REPLICAOF NO ONE"),
  },
] as const;

forCases(
  "F15 A3 Redis takes no writes since $what: health says so, jobs are accepted and done all the same, and nothing is dropped",
  { usual: refusals.slice(0, 1), others: refusals.slice(1) },
  async ({ begin, end }, { onTestFinished }) => {
    const redis = await startRedis();
    onTestFinished(() => redis.destroy());
    const scene = await openScene(onTestFinished, { env: { REDIS_URL: redis.url } });
    await scene.startWorker({ slots: 2, script: { runMs: 200 } });
    const ids = await submitMany(scene, 2);
    await untilAll(scene.services, ids, { statuses: ["completed"] });
    await eventually(() => readQueue(scene), well);
    await begin(redis);
    await eventually(() => readQueue(scene), refusing);
    ids.push(...(await submitMany(scene, 4)));
    const jobs = await untilAll(scene.services, ids, { statuses: ["completed"] });
    expect(jobs.filter(({ attempt, charged }) => attempt !== 1 || charged !== 0)).toEqual([]);
    await end(redis);
    await eventually(() => readQueue(scene), well);
    const [next = ""] = await submitMany(scene, 1);
    await until(scene.services, next, "completed");
    expect(await redis.send("INFO stats")).toContain("evicted_keys:0");
    expect(await scene.faults()).toEqual([]);
  },
);
