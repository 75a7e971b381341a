import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";
import { expect, test } from "vitest";
import { insertJob, untilAll } from "../jobs/index.ts";
import { backends, openScene, realTimeMs, type Scene } from "./scene.ts";

const jobCount = 40;
const runMs = 150;
/** Two a second, as F17 says. */
const betweenMs = 500;

/** Ends one session of the database after another, whoever holds it, until `over`; gives back how many. */
async function endSessions({ services }: Scene, over: AbortSignal): Promise<number> {
  let ended = 0;
  const admin = new pg.Client({
    connectionString: services.env.DATABASE_URL,
    application_name: "test admin",
  });
  await admin.connect();
  while (!over.aborted) {
    const answer = await admin.query(
      `select pg_terminate_backend(pid) from pg_stat_activity
       where datname = current_database() and pid <> pg_backend_pid() order by random() limit 1`,
    );
    ended += answer.rows.length;
    await sleep(betweenMs, undefined, { signal: over }).catch(() => undefined);
  }
  await admin.end();
  return ended;
}

test.concurrent.for(backends)(
  "F17 A3 sessions of the database are ended twice a second, bells on %s: all jobs complete uncharged, no worker exits",
  { timeout: realTimeMs },
  async (backend, { onTestFinished }) => {
    const scene = await openScene(onTestFinished, { backend });
    const { services, owner } = scene;
    const options = { slots: 2, script: { runMs } };
    const workers = await Promise.all(["one", "two"].map((name) => scene.startWorker({ ...options, name })));
    const ids: string[] = [];
    for (let at = 0; at < jobCount; at += 1) ids.push(await insertJob(services, { owner }));
    const over = new AbortController();
    const ended = endSessions(scene, over.signal);
    const jobs = await untilAll(services, ids, { statuses: ["completed"], patienceMs: 90_000 });
    over.abort();
    expect(await ended).toBeGreaterThan(5);
    expect(jobs.filter((job) => job.charged > 0)).toEqual([]);
    expect(workers.map((worker) => worker.output()).join()).not.toContain("this node was called lost");
    for (const worker of workers) expect(await worker.term()).toBe(0);
    expect(await scene.faults()).toEqual([]);
  },
);
