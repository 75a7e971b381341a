import { cancel } from "@atelier/server/jobs";
import type { Bell } from "@atelier/server/queue";
import { expect, test } from "vitest";
import { addJob, insertJob, readJob, readStory, testQueue, until, untilAll } from "../jobs/index.ts";
import { backends, openScene, realTimeMs } from "./scene.ts";

const runMs = 30;
const bellOf = (jobId: string, ring: number, attempt = 0): Bell => ({ jobId, attempt, ring });

test.concurrent.for(backends)(
  "E7 bells on %s that come twice, late, early or in the wrong order: each job runs once",
  { timeout: realTimeMs },
  async (backend, { onTestFinished }) => {
    const scene = await openScene(onTestFinished, { backend });
    const { services, owner } = scene;
    const workers = await Promise.all(
      ["one", "two"].map((name) => scene.startWorker({ name, script: { runMs } })),
    );
    const waiting = await Promise.all(Array.from({ length: 20 }, () => insertJob(services, { owner })));
    // Before their time: none of them is queued yet, and nobody of this name was ever claimed.
    await services.bells.ring(
      testQueue,
      waiting.toReversed().map((id) => bellOf(id, 1)),
    );
    const ids = [...waiting, await addJob(services, { owner })];
    for (let ring = 9; ring > 0; ring -= 1) {
      const bells = ids.flatMap((id) => [bellOf(id, ring), bellOf(id, ring), bellOf(id, ring, 3)]);
      await services.bells.ring(testQueue, bells.toReversed());
    }
    const jobs = await untilAll(services, ids, { statuses: ["completed"] });
    await services.bells.ring(
      testQueue,
      ids.map((id) => bellOf(id, 99, 1)),
    );
    const last = await addJob(services, { owner });
    await until(services, last, "completed");
    expect(jobs.filter((job) => job.attempt !== 1 || job.charged !== 0)).toEqual([]);
    const runs = (id: string) => workers.reduce((sum, worker) => sum + worker.count(`engine-start ${id}`), 0);
    expect([...ids, last].filter((id) => runs(id) !== 1)).toEqual([]);
    expect(await scene.faults()).toEqual([]);
  },
);

test.concurrent.for(backends)(
  "D6 a bell on %s for a cancelled job does nothing",
  { timeout: realTimeMs },
  async (backend, { onTestFinished }) => {
    const scene = await openScene(onTestFinished, { backend });
    const { services, owner } = scene;
    const cancelled = await addJob(services, { owner });
    await cancel(services, { ownerId: owner.userId, id: cancelled });
    const before = [await readJob(services, cancelled), await readStory(services, cancelled)];
    // The bell of `addJob` is still there as well.
    await services.bells.ring(testQueue, [bellOf(cancelled, 2), bellOf(cancelled, 3)]);
    const worker = await scene.startWorker({ script: { runMs } });
    const next = await addJob(services, { owner });
    await until(services, next, "completed");
    await services.bells.ring(testQueue, [bellOf(cancelled, 4)]);
    const last = await addJob(services, { owner });
    await until(services, last, "completed");
    expect([await readJob(services, cancelled), await readStory(services, cancelled)]).toEqual(before);
    expect(worker.count(`engine-start ${cancelled}`)).toBe(0);
    expect(await scene.faults()).toEqual([]);
  },
);
