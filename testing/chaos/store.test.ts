// @module-tag all
import { mkdtemp, rm } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { schema } from "@atelier/server/db";
import { openFile } from "@atelier/server/images";
import { readNodes, readOverview } from "@atelier/server/monitoring";
import { forBackends, realTimeMs, inAll } from "../cases/index.ts";
import { addJob, readJob, until, untilAll } from "../jobs/index.ts";
import { startS3, type TestS3 } from "../s3/index.ts";
import { eventually, openScene, type Scene } from "./scene.ts";

let s3: TestS3;
let elsewhere: string;

beforeAll(async () => {
  [s3, elsewhere] = await Promise.all([startS3(), mkdtemp(path.join(os.tmpdir(), "atelier-elsewhere-"))]);
}, realTimeMs);
afterAll(async () => {
  await s3.destroy();
  await rm(elsewhere, { recursive: true, force: true });
});

/** Why each live node takes no jobs, by its name. */
async function readProblems({ services }: Scene): Promise<Record<string, string[]>> {
  const nodes = await services.db.select().from(schema.nodes);
  return Object.fromEntries(nodes.map(({ name, problems }) => [name, problems.map(({ what }) => what)]));
}

async function readResult({ services, owner }: Scene, jobId: string): Promise<number> {
  const [output] = await services.db.select().from(schema.jobOutputs);
  expect(output?.jobId).toBe(jobId);
  const input = { ownerId: owner.userId, id: output?.imageId ?? "", variant: "original" } as const;
  const { body } = await openFile(services, input);
  let sizeBytes = 0;
  for await (const chunk of body ?? []) sizeBytes += chunk.length;
  return sizeBytes;
}

test(
  "A16 R5 a worker with another data folder takes no jobs and says why; they wait for one with the studio's store",
  { ...inAll, timeout: realTimeMs },
  async ({ onTestFinished }) => {
    const scene = await openScene(onTestFinished, {});
    const { services, owner } = scene;
    const own = await scene.startWorker({ name: "own" });
    await own.term();
    const stranger = await scene.startWorker({ name: "stranger", env: { ATELIER_DATA_DIR: elsewhere } });
    await eventually(async () => (await readProblems(scene))["stranger"], ["Image store"]);
    const id = await addJob(services, { owner });
    const { attention } = await readOverview(services, { window: "1h", nodes: readNodes(services) });
    expect(attention).toContainEqual(
      expect.objectContaining({
        type: "node_without_store",
        node: "stranger",
        reason: expect.stringContaining("ATELIER_DATA_DIR"),
      }),
    );
    await scene.startWorker({ name: "own" });
    const { nodeId } = await until(services, id, "completed");
    const [node] = (await services.db.select().from(schema.nodes)).filter(({ id }) => id === nodeId);
    expect(node?.name).toBe("own");
    expect(stranger.output()).not.toContain("engine-start");
    expect(await readResult(scene, id)).toBeGreaterThan(0);
    expect(await scene.faults()).toEqual([]);
  },
);

forBackends(
  "A16 F29 R5 on %s a worker that shares only database, queue and bucket does its jobs",
  async (backend, { onTestFinished }) => {
    const scene = await openScene(onTestFinished, {
      backend,
      env: { ...s3.env, S3_BUCKET: await s3.addBucket() },
    });
    const { services, owner } = scene;
    const folder = await mkdtemp(path.join(elsewhere, "worker-"));
    const worker = await scene.startWorker({ name: "far", env: { ATELIER_DATA_DIR: folder } });
    const first = await addJob(services, { owner });
    await until(services, first, "completed");
    expect(await readResult(scene, first)).toBeGreaterThan(0);
    expect(await readProblems(scene)).toEqual({ far: [] });
    expect(worker.count(`engine-start ${first}`)).toBe(1);
    expect(await scene.faults()).toEqual([]);
  },
);

test(
  "A3 F29 R5 a store that vanishes: no job is completed or charged, and they go on when it is back",
  { timeout: realTimeMs },
  async ({ onTestFinished }) => {
    const scene = await openScene(onTestFinished, { env: { ...s3.env, S3_BUCKET: await s3.addBucket() } });
    const { services, owner } = scene;
    const worker = await scene.startWorker({ name: "far", script: { hang: true } });
    const running = await addJob(services, { owner });
    await worker.waitFor(new RegExp(`engine-start ${running}`));
    await s3.kill9();
    await eventually(async () => (await readProblems(scene))["far"], ["Image store"], 60_000);
    const waiting = await addJob(services, { owner });
    worker.release();
    await untilAll(services, [running], { statuses: ["pending", "queued"], patienceMs: 60_000 });
    await s3.start();
    for (const id of [running, waiting])
      expect(await until(services, id, "completed")).toMatchObject({ charged: 0 });
    expect((await readJob(services, waiting)).attempt).toBe(1);
    expect(await readProblems(scene)).toEqual({ far: [] });
    expect(await scene.faults()).toEqual([]);
  },
);
