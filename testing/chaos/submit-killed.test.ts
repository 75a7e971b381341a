import { expect } from "vitest";
import { schema } from "@atelier/server/db";
import { forCases } from "../cases/index.ts";
import { readJob, untilAll } from "../jobs/index.ts";
import { findProgram, runNode } from "../processes/index.ts";
import { processEnv } from "../worker/index.ts";
import { type DeathPoint, openScene, ordersName, type Scene, type SubmitOrders } from "./scene.ts";

/** The bound of F9, in the product's own times. */
const patienceMs = 15_000;
const cases = {
  usual: [{ backend: "postgres", point: "accepted" }],
  others: [
    { backend: "redis", point: "queued" },
    { backend: "redis", point: "accepted" },
    { backend: "postgres", point: "queued" },
  ],
} as const;

/** Resolves with the job's id once the process that took it in was killed. */
async function submitAndDie({ services, owner }: Scene, point: DeathPoint): Promise<string> {
  const request = { kind: "upscale", inputs: { image: owner.imageId } };
  const orders: SubmitOrders = { submitter: owner, request, point };
  const run = runNode(await findProgram("testing/chaos/submit-and-die.ts"), {
    ...processEnv(services),
    [ordersName]: JSON.stringify(orders),
  });
  expect([await run.ended, run.child.signalCode]).toEqual([null, "SIGKILL"]);
  const [job] = await services.db.select().from(schema.jobs);
  return job?.id ?? "";
}

forCases(
  "F9 A6 a submit killed with -9 after the job was $point, before the bell: the sweep starts it, on $backend",
  cases,
  async ({ backend, point }, { onTestFinished }) => {
    const scene = await openScene(onTestFinished, { backend });
    await scene.startWorker();
    const id = await submitAndDie(scene, point);
    await untilAll(scene.services, [id], { statuses: ["completed"], patienceMs });
    expect(await readJob(scene.services, id)).toMatchObject({ attempt: 1, charged: 0 });
    expect(await scene.faults()).toEqual([]);
  },
);
