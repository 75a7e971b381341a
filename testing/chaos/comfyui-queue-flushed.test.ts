import { expect, test } from "vitest";
import { realTimeMs } from "../cases/index.ts";
import { untilAll } from "../jobs/index.ts";
import { startRedis } from "../redis/index.ts";
import { openComfyScene } from "./comfy-scene.ts";

const large = { steps: 100 };

test.concurrent(
  "F12 F13 A3 Redis flushed and killed under jobs of ComfyUI: they end without it, and each runs once",
  { timeout: realTimeMs },
  async ({ onTestFinished }) => {
    const redis = await startRedis();
    onTestFinished(() => redis.destroy());
    const scene = await openComfyScene(onTestFinished, { env: { REDIS_URL: redis.url } });
    const { services, servers } = scene;
    await scene.startComfyWorker();
    const submitMany = (count: number) =>
      Promise.all(Array.from({ length: count }, () => scene.submitWords(large)));
    scene.injectAll({ kind: "hold" });
    const running = await submitMany(servers.length);
    for (const id of running) await scene.serverOf(id);
    const ids = [...running, ...(await submitMany(3))];
    await redis.flushAll();
    ids.push(...(await submitMany(3)));
    await redis.kill9();
    ids.push(...(await submitMany(3)));
    for (const server of servers) server.release();
    // Stored, and shown to whoever asks, while there is no queue.
    await untilAll(services, running, { statuses: ["completed"] });
    await redis.start();
    ids.push(...(await submitMany(3)));
    const jobs = await untilAll(services, ids, { statuses: ["completed"] });
    expect(jobs.filter(({ attempt, charged }) => attempt !== 1 || charged !== 0)).toEqual([]);
    const prompts = servers.flatMap((server) => server.prompts());
    expect(prompts.filter(({ posted, started }) => posted !== 1 || started !== 1)).toEqual([]);
    expect(prompts).toHaveLength(ids.length);
    expect(await scene.faults()).toEqual([]);
  },
);
