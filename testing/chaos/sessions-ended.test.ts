import { expect } from "vitest";
import { forBackends } from "../cases/index.ts";
import { insertJob, untilAll } from "../jobs/index.ts";
import { endSessions } from "../postgres/index.ts";
import { openScene } from "./scene.ts";

const jobCount = 100;
const runMs = 150;
forBackends(
  "F17 A3 sessions of the database are ended twice a second, bells on %s: all jobs complete uncharged, no worker exits",
  async (backend, { onTestFinished, signal }) => {
    const scene = await openScene(onTestFinished, { backend });
    const { services, owner } = scene;
    const options = { slots: 2, script: { runMs } };
    const workers = await Promise.all(["one", "two"].map((name) => scene.startWorker({ ...options, name })));
    const ids: string[] = [];
    for (let at = 0; at < jobCount; at += 1) ids.push(await insertJob(services, { owner }));
    const over = new AbortController();
    onTestFinished(() => over.abort());
    const ended = endSessions(services, over.signal);
    await untilAll(services, ids, { statuses: ["completed"], patienceMs: 90_000 });
    // However fast the workers are beside this process: sessions must end under them.
    while (!signal.aborted && ended.count() <= 5) {
      const id = await insertJob(services, { owner });
      ids.push(id);
      await untilAll(services, [id], { statuses: ["completed"], patienceMs: 90_000 });
    }
    const jobs = await untilAll(services, ids, { statuses: ["completed"], patienceMs: 90_000 });
    over.abort();
    expect(await ended.total).toBeGreaterThan(5);
    expect(jobs.filter((job) => job.charged > 0)).toEqual([]);
    expect(workers.map((worker) => worker.output()).join()).not.toContain("this node was marked lost");
    for (const worker of workers) expect(await worker.term()).toBe(0);
    expect(await scene.faults()).toEqual([]);
  },
);
