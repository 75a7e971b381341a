// @module-tag all
import { setTimeout as sleep } from "node:timers/promises";
import { schema } from "@atelier/server/db";
import { expect, vi } from "vitest";
import { forCases, realTimeMs } from "../cases/index.ts";
import { addJob, readJob, until, untilAll } from "../jobs/index.ts";
import { startPrivatePostgres } from "../postgres/index.ts";
import { openScene } from "./scene.ts";

/** Measured to mislead any judgement by timestamps, and longer than the time after which a node is called lost. */
const stopMs = 14_000;
/** One run ends while the database is away, the other after its return. */
const runsMs = [6_000, 20_000] as const;
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
      scene.startWorker({ name: "one" }),
      scene.startWorker({ name: "two" }),
    ]);
    const ids: string[] = [];
    for (const runMs of runsMs) ids.push(await addJob(services, { owner, simulate: { runMs } }));
    // The row alone may be ahead of the worker: without the answer to its claim a job is handed back.
    const isRunning = (id: string) =>
      workers.some((worker) => worker.output().includes(`engine-start ${id}`));
    await vi.waitUntil(() => ids.every(isRunning), { timeout: realTimeMs });
    if (fault === "frozen and thawed") {
      postgres.freeze();
      await sleep(stopMs);
      postgres.thaw();
    } else {
      await postgres.stop();
      await sleep(stopMs);
      await postgres.start();
    }
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
