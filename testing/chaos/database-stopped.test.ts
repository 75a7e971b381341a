// @module-tag all
import { setTimeout as sleep } from "node:timers/promises";
import { schema } from "@atelier/server/db";
import { expect, vi } from "vitest";
import { forCases, realTimeMs } from "../cases/index.ts";
import { addJob, readJob, until, untilAll } from "../jobs/index.ts";
import { startPrivatePostgres } from "../postgres/index.ts";
import type { TestWorker } from "../worker/index.ts";
import { openScene } from "./scene.ts";

/** Measured to mislead any judgement by timestamps, and longer than the time after which a node is called lost. */
const stopMs = 14_000;
const cases = {
  usual: [{ backend: "postgres", fault: "frozen and thawed" }],
  others: [
    { backend: "redis", fault: "stopped and started again" },
    { backend: "postgres", fault: "stopped and started again" },
    { backend: "redis", fault: "frozen and thawed" },
  ],
} as const;

forCases(
  "F16 A3 PostgreSQL $fault after 14 s, bells on $backend: no node is called lost, running jobs complete uncharged",
  cases,
  async ({ backend, fault }, { onTestFinished }) => {
    const postgres = await startPrivatePostgres();
    onTestFinished(() => postgres.destroy());
    const scene = await openScene(onTestFinished, { backend, env: { DATABASE_URL: postgres.url } });
    const { services, owner } = scene;
    const workers = await Promise.all([
      scene.startWorker({ config: "real", name: "one" }),
      scene.startWorker({ config: "real", name: "two" }),
    ]);
    const simulate = { hang: true };
    const first = await addJob(services, { owner, simulate });
    const ids = [first, await addJob(services, { owner, simulate })];
    // The row alone may be ahead of the worker: without the answer to its claim a job is handed back.
    const runs = (worker: TestWorker, id: string) => worker.output().includes(`engine-start ${id}`);
    const isRunning = (id: string) => workers.some((worker) => runs(worker, id));
    await vi.waitUntil(() => ids.every(isRunning), { timeout: realTimeMs });
    /** One run ends while the database is away, the other after its return. */
    const release = (isFirst: boolean) => {
      for (const worker of workers) if (runs(worker, first) === isFirst) worker.release();
    };
    if (fault === "frozen and thawed") {
      postgres.freeze();
      release(true);
      await sleep(stopMs);
      postgres.thaw();
    } else {
      await postgres.stop();
      release(true);
      await sleep(stopMs);
      await postgres.start();
    }
    release(false);
    const jobs = await untilAll(services, ids, { statuses: ["completed"], patienceMs: 60_000 });
    expect(jobs.map(({ attempt, charged }) => ({ attempt, charged }))).toEqual([
      { attempt: 1, charged: 0 },
      { attempt: 1, charged: 0 },
    ]);
    const next = await addJob(services, { owner });
    await until(services, next, "completed");
    expect(await readJob(services, next)).toMatchObject({ attempt: 1, charged: 0 });
    const nodes = await services.db.select({ state: schema.nodes.state }).from(schema.nodes);
    expect(nodes.map((node) => node.state)).toEqual(["active", "active"]);
    expect(await scene.faults()).toEqual([]);
  },
);
