import { desc } from "drizzle-orm";
import { expect } from "vitest";
import { getBatch, submitBatch } from "@atelier/server/batches";
import { schema } from "@atelier/server/db";
import { forCases } from "../cases/index.ts";
import { until } from "../jobs/index.ts";
import { findProgram, runNode } from "../processes/index.ts";
import { processEnv } from "../worker/index.ts";
import {
  batchKey,
  type DeathPoint,
  measureWithin,
  openScene,
  ordersName,
  type Scene,
  type SubmitOrders,
} from "./scene.ts";

/** The bound of F9, in the product's own times. */
const withinMs = 15_000;
const cases = {
  usual: [{ backend: "postgres", point: "accepted" }],
  others: [
    { backend: "redis", point: "queued" },
    { backend: "redis", point: "accepted" },
    { backend: "postgres", point: "queued" },
  ],
} as const;

const requestOf = ({ owner }: Scene) => ({ kind: "upscale", inputs: { image: owner.imageId } });

/** Resolves once the process that took the request in was killed. */
async function submitAndDie(scene: Scene, point: DeathPoint, request: object): Promise<void> {
  const { services, owner } = scene;
  const orders: SubmitOrders = { submitter: owner, request, point };
  const run = runNode(await findProgram("testing/chaos/submit-and-die.ts"), {
    ...processEnv(services),
    [ordersName]: JSON.stringify(orders),
  });
  expect([await run.ended, run.child.signalCode]).toEqual([null, "SIGKILL"]);
}

forCases(
  "F9 A6 a submit killed with -9 after the job was $point, before the bell: the sweep starts it, on $backend",
  cases,
  async ({ backend, point }, { onTestFinished }) => {
    const scene = await openScene(onTestFinished, { backend });
    await scene.startWorker();
    const readTakenMs = async () => {
      await submitAndDie(scene, point, requestOf(scene));
      const diedMs = performance.now();
      const [job] = await scene.services.db.select().from(schema.jobs).orderBy(desc(schema.jobs.createdAt));
      const id = job?.id ?? "";
      expect(await until(scene.services, id, "completed")).toMatchObject({ attempt: 1, charged: 0 });
      return performance.now() - diedMs;
    };
    expect(await measureWithin(withinMs, readTakenMs)).toBeLessThan(withinMs);
    expect(await scene.faults()).toEqual([]);
  },
);

const places = 8;
const ofBatch = { usual: [{ point: "storing" }], others: [{ point: "accepted" }] } as const;

forCases(
  "F9 a batch killed with -9 at $point is there as a whole or not at all, and its key makes it once",
  ofBatch,
  async ({ point }, { onTestFinished }) => {
    const scene = await openScene(onTestFinished, { backend: "postgres" });
    const { services, owner } = scene;
    const jobs = Array.from({ length: places }, () => requestOf(scene));
    await submitAndDie(scene, point, { jobs });
    const before = point === "storing" ? 0 : places;
    expect(await services.db.$count(schema.jobs)).toBe(before);
    expect(await services.db.$count(schema.batches)).toBe(before / places);
    const { signal } = new AbortController();
    const { id } = await submitBatch(
      services,
      { jobs },
      { submitter: owner, signal, idempotencyKey: batchKey },
    );
    expect(await services.db.$count(schema.jobs)).toBe(places);
    expect(await getBatch(services, { ownerId: owner.userId, id })).toMatchObject({ size: places });
  },
);
