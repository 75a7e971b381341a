import { schema, tiers, type Tier } from "@atelier/server/db";
import { localEngine } from "@atelier/server/engines";
import { dispatch } from "@atelier/server/jobs";
import { newId } from "@atelier/server/platform";
import type { Services } from "@atelier/server/services";
import type { EngineScript } from "../worker/index.ts";
import type { TestOwner } from "./add-owner.ts";

/** The queue that every machine of the default configuration serves at least. */
export const testQueue = "cpu-light";

export interface TestJob {
  readonly owner: TestOwner;
  readonly tier?: Tier;
  /** What the simulated engine does with it. */
  readonly simulate?: EngineScript;
  readonly retention?: "keep" | "ephemeral";
  /** Whether its first failed try ends it. */
  readonly once?: boolean;
  /** `testQueue` by default. */
  readonly queue?: string;
  /** Workers that died under it; it then runs alone. */
  readonly lostWorkers?: number;
}

/**
 * Adds a waiting job as `submit` does, but with what submit does not take: a tier and a script for the simulated
 * engine. Rings for nothing; call `dispatch`, or let the sweep find it.
 */
export async function insertJob(services: Services, job: TestJob): Promise<string> {
  const id = newId();
  await services.db.transaction(async (tx) => {
    await tx.insert(schema.jobs).values({
      id,
      ownerId: job.owner.userId,
      kind: "upscale",
      status: "pending",
      tier: tiers[job.tier ?? "normal"],
      params: { scale: 2, ...(job.simulate ? { simulate: job.simulate } : {}) },
      queue: job.queue ?? testQueue,
      charged: job.lostWorkers ?? 0,
      runAlone: (job.lostWorkers ?? 0) > 0,
      engine: localEngine.name,
      need: "local/upscale",
      inputCount: 1,
      retention: job.retention ?? "keep",
      once: job.once ?? false,
    });
    await tx.insert(schema.jobEvents).values({ jobId: id, revision: 1, type: "created", status: "pending" });
    await tx.insert(schema.jobInputs).values({ jobId: id, role: "image", imageId: job.owner.imageId });
  });
  return id;
}

/** `insertJob`, and lets the line move. */
export async function addJob(services: Services, job: TestJob): Promise<string> {
  const id = await insertJob(services, job);
  await dispatch(services, job.queue ?? testQueue);
  return id;
}
