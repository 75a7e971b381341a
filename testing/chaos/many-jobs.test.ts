// @module-tag all
import { schema, tiers } from "@atelier/server/db";
import { cancel, submit } from "@atelier/server/jobs";
import { newId } from "@atelier/server/platform";
import { and, inArray, isNotNull } from "drizzle-orm";
import { expect } from "vitest";
import { forBackends } from "../cases/index.ts";
import { addJob, addOwner, testQueue, untilAll, type TestOwner } from "../jobs/index.ts";
import { openScene, type Scene } from "./scene.ts";

const crowd = 2_000;
/** Jobs of the other user. */
const few = 30;
const slots = 2;
const runMs = 60;

function submitOne({ services }: Scene, owner: TestOwner): Promise<{ id: string }> {
  const request = { kind: "upscale", engine: "local", inputs: { image: owner.imageId } };
  return submit(services, request, { submitter: owner });
}

/** The rows of as many submits, stored at once: a submit weighs the whole line each time. */
async function insertMany({ services }: Scene, owner: TestOwner, count: number): Promise<string[]> {
  const { jobs, jobEvents, jobInputs } = schema;
  const ids = Array.from({ length: count }, newId);
  const common = { kind: "upscale", status: "pending", queue: testQueue, engine: "local" } as const;
  const params = { scale: 2 };
  const { userId: ownerId, imageId } = owner;
  const rows = ids.map((id) => {
    return {
      ...common,
      id,
      ownerId,
      params,
      tier: tiers.normal,
      need: "local/upscale",
      inputCount: 1,
    } as const;
  });
  await services.db.transaction(async (tx) => {
    await tx.insert(jobs).values(rows);
    await tx
      .insert(jobEvents)
      .values(ids.map((jobId) => ({ jobId, revision: 1, type: "created", status: "pending" as const })));
    await tx.insert(jobInputs).values(ids.map((jobId) => ({ jobId, role: "image" as const, imageId })));
  });
  return ids;
}

/** Occupies every slot, so that all jobs submitted until `release` wait in the line together. */
async function occupySlots({ services }: Scene, owner: TestOwner): Promise<{ release(): Promise<void> }> {
  const hanging = Array.from({ length: slots }, () => addJob(services, { owner, simulate: { hang: true } }));
  const ids = await Promise.all(hanging);
  await untilAll(services, ids, { statuses: ["processing"] });
  return {
    async release() {
      for (const id of ids) await cancel(services, { ownerId: owner.userId, id });
      await untilAll(services, ids, { statuses: ["cancelled"] });
    },
  };
}

interface Contest {
  readonly owner: TestOwner;
  readonly occupied: { release(): Promise<void> };
}

/** Submits the few, frees the slots and waits until all have run; how many runs of anybody began while one of them waited, on average. */
async function countTurns(scene: Scene, { owner, occupied }: Contest): Promise<number> {
  const submitted = await Promise.all(Array.from({ length: few }, () => submitOne(scene, owner)));
  await occupied.release();
  const ids = submitted.map(({ id }) => id);
  const own = await untilAll(scene.services, ids, { statuses: ["completed"], patienceMs: 90_000 });
  const { jobs } = schema;
  const rows = await scene.services.db
    .select({ startedAt: jobs.startedAt })
    .from(jobs)
    .where(isNotNull(jobs.startedAt));
  const starts = rows.map(({ startedAt }) => Number(startedAt));
  const turns = own.map(
    (job) => starts.filter((at) => at > Number(job.createdAt) && at <= Number(job.startedAt)).length,
  );
  return turns.reduce((sum, count) => sum + count, 0) / few;
}

forBackends(
  "F35 E1 one user has 2,000 jobs in the line on %s: another's take turns with them, so that they wait twice as many turns as alone at most",
  async (backend, { onTestFinished }) => {
    const limits = { openJobs: 2 * crowd, maxWaiting: 2 * crowd };
    const scene = await openScene(onTestFinished, {
      backend,
      config: { queues: { "cpu-light": {} }, limits },
    });
    const { services, owner: crowding } = scene;
    const other = await addOwner(services);
    const worker = await scene.startWorker({ slots, script: { runMs } });
    const calm = await countTurns(scene, { owner: other, occupied: await occupySlots(scene, crowding) });
    const occupied = await occupySlots(scene, crowding);
    const ids = await insertMany(scene, crowding, crowd);
    ids.push((await submitOne(scene, crowding)).id);
    const crowded = await countTurns(scene, { owner: other, occupied });
    // In turn with the crowd's, and behind those that run or had been let out before.
    expect(crowded).toBeLessThanOrEqual(2 * calm + 2 * slots);
    expect(await worker.term()).toBe(0);
    const { jobs } = schema;
    const left = and(inArray(jobs.id, ids), inArray(jobs.status, ["pending", "queued"]));
    expect(await services.db.$count(jobs, left)).toBeGreaterThan(crowd / 2);
    expect(await scene.faults()).toEqual([]);
  },
);
