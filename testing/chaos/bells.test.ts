import { cancel } from "@atelier/server/jobs";
import { schema } from "@atelier/server/db";
import { changeNodeSettings, drainNode, resumeNode } from "@atelier/server/nodes";
import type { Bell } from "@atelier/server/queue";
import { expect } from "vitest";
import { eq } from "drizzle-orm";
import { backends, forBackends, forCases } from "../cases/index.ts";
import { addJob, insertJob, readJob, readStory, testQueue, until, untilAll } from "../jobs/index.ts";
import { openScene, type Scene } from "./scene.ts";

const runMs = 30;
const bellOf = (jobId: string, ring: number, attempt = 0): Bell => ({ jobId, attempt, ring });

forBackends(
  "E7 bells on %s that come twice, late, early or in the wrong order: each job runs once",
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

forCases(
  "D6 a bell on %s for a cancelled job does nothing",
  { usual: [], others: backends },
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

async function nodeIdOf({ services }: Scene, name: string): Promise<string> {
  const { nodes } = schema;
  const [node] = await services.db.select({ id: nodes.id }).from(nodes).where(eq(nodes.name, name));
  return node?.id ?? "";
}

forCases(
  "D9 a node on %s that takes nothing, drained or without a slot, leaves the bells to the others until it takes jobs again",
  { usual: [], others: backends },
  async (backend, { onTestFinished }) => {
    const scene = await openScene(onTestFinished, { backend });
    const { services, owner } = scene;
    const [closed, open] = await Promise.all([
      scene.startWorker({ name: "closed", script: { runMs } }),
      scene.startWorker({ name: "open", script: { runMs } }),
    ]);
    const id = await nodeIdOf(scene, "closed");
    const left = (times: number) => new RegExp(`("queue left"[^]*){${times}}`);
    const joined = (times: number) => new RegExp(`("queue joined"[^]*){${times}}`);
    /** How many bells were rung again by the sweep, since they were swallowed; the first ten may meet a ring for a changed node. */
    const countRerung = async () => {
      const rings: number[] = [];
      for (let count = 0; count < 20; count += 1) {
        const { ring } = await until(services, await addJob(services, { owner }), "completed");
        rings.push(ring);
      }
      return rings.slice(10).filter((ring) => ring > 1).length;
    };
    /** A bell may be late because the machine stood still: then none of twice as many may be. */
    const countLost = async () => (await countRerung()) && (await countRerung()) + (await countRerung());
    await drainNode(services, { id });
    await closed.waitFor(left(1));
    expect(await countLost()).toBe(0);
    await resumeNode(services, { id });
    await closed.waitFor(joined(2));
    await changeNodeSettings(services, { id, settings: { slots: { [testQueue]: 0 } } });
    await closed.waitFor(left(2));
    expect(await countLost()).toBe(0);
    expect(closed.output()).not.toContain("engine-start");
    await changeNodeSettings(services, { id, settings: {} });
    await closed.waitFor(joined(3));
    await drainNode(services, { id: await nodeIdOf(scene, "open") });
    await open.waitFor(left(1));
    const last = await addJob(services, { owner });
    await closed.waitFor(new RegExp(`engine-done ${last}`));
    await until(services, last, "completed");
    expect(await scene.faults()).toEqual([]);
  },
);

forCases(
  "D9 a node on %s that is drained in the middle of a run keeps its other slots when it is resumed",
  { usual: [], others: backends },
  async (backend, { onTestFinished }) => {
    const scene = await openScene(onTestFinished, { backend });
    const { services, owner } = scene;
    const worker = await scene.startWorker({ slots: 2 });
    const id = await nodeIdOf(scene, "worker");
    const long = await addJob(services, { owner, simulate: { hang: true } });
    await worker.waitFor(new RegExp(`engine-start ${long}`));
    await drainNode(services, { id });
    await worker.waitFor(/"leaving queue"/);
    const next = await addJob(services, { owner });
    await resumeNode(services, { id });
    await worker.waitFor(/("queue joined"[^]*){2}/);
    await until(services, next, "completed");
    expect((await readJob(services, long)).status).toBe("processing");
    await cancel(services, { ownerId: owner.userId, id: long });
    await until(services, long, "cancelled");
    expect(await scene.faults()).toEqual([]);
  },
);
