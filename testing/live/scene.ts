import {
  cancel,
  claim,
  complete,
  confirmCancel,
  fail,
  type Job,
  type Lease,
  persistProgress,
  start,
} from "@atelier/server/jobs";
import { AppError } from "@atelier/server/platform";
import type { Services } from "@atelier/server/services";
import { waitUntil } from "../../scripts/process/tools.ts";
import { addJob, localOffers, type TestOwner, testQueue } from "../jobs/index.ts";

export interface Writer {
  readonly owner: TestOwner;
  /** A node with one slot of this writer alone. */
  readonly nodeId: string;
  readonly jobs: number;
  /** Awaited before each change. */
  readonly turn: () => Promise<void>;
}

const stages = 5;
const patienceMs = 60_000;

/** Takes jobs through their whole lives, ten changes each, as web and worker do; every third fails or is cancelled. */
export async function writeJobs(services: Services, writer: Writer): Promise<void> {
  for (let at = 0; at < writer.jobs; at += 1) {
    await writer.turn();
    await addJob(services, { owner: writer.owner });
    const job = await claimAny(services, writer.nodeId);
    const lease = { jobId: job.id, attempt: job.attempt, nodeId: writer.nodeId };
    await writer.turn();
    await start(services, lease);
    for (let stage = 1; stage <= stages; stage += 1) {
      await writer.turn();
      await persistProgress(services, lease, { progress: stage / (stages + 1), stage: "upscaling" });
    }
    await writer.turn();
    await end(services, { at, job, lease });
  }
}

/** The jobs of all writers stand in one line: each writer takes whichever is next. */
async function claimAny(services: Services, nodeId: string): Promise<Job> {
  let job: Job | null = null;
  await waitUntil(async () => {
    job ??= await claim(services, { nodeId, queue: testQueue, offers: localOffers });
    return job !== null;
  }, patienceMs);
  if (!job) throw new Error("there is nothing to claim");
  return job;
}

async function end(
  services: Services,
  { at, job, lease }: { at: number; job: Job; lease: Lease },
): Promise<void> {
  if (at % 6 === 2) {
    await fail(services, lease, new AppError("output_too_large"));
  } else if (at % 6 === 5) {
    await cancel(services, { ownerId: job.ownerId, id: job.id });
    await confirmCancel(services, lease);
  } else {
    await complete(services, { lease, outputs: [], facts: {} });
  }
}
