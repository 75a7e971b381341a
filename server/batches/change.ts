import { cancelBatchJobs, requireRightToFollow, retry, type Submitter } from "../jobs/index.ts";
import { AppError, toAppError } from "../platform/index.ts";
import type { Services } from "../services.ts";
import { type BatchAddress, findBatch, getBatch } from "./read.ts";
import { beginSteps, resumeSteps, stopSteps } from "./steps.ts";

/** Cancels what is open of it; what was done stays. Returns how many jobs were asked to stop. Throws `not_found`. */
export async function cancelBatch(
  services: Services,
  address: BatchAddress,
): Promise<{ readonly cancelled: number }> {
  const { id } = await findBatch(services, address);
  const between = await stopSteps(services, id);
  return { cancelled: between + (await cancelBatchJobs(services, id)) };
}

export interface BatchRetry {
  /** Jobs that run again, each in the place of the failed one. */
  readonly retried: number;
  /** Jobs that could not be accepted again, with the reason. */
  readonly refused: readonly { readonly position: number; readonly code: string; readonly message: string }[];
}

/**
 * Runs the failed and cancelled jobs again, within the bounds that were agreed for each of them, and goes on where a step
 * was stopped. What is refused does not hold up the others. Throws `not_found`, and `conflict` when none has failed.
 */
export async function retryBatch(
  services: Services,
  { submitter, id }: { readonly submitter: Submitter; readonly id: string },
): Promise<BatchRetry> {
  const address = { ownerId: submitter.userId, id };
  const batch = await getBatch(services, address);
  await requireRightToFollow(services.db, submitter, [id]);
  const again = batch.jobs.filter(({ job }) => job?.status === "failed" || job?.status === "cancelled");
  const resumed = await resumeSteps(services, { batchId: id, keyId: submitter.keyId });
  if (again.length + resumed.size === 0)
    throw new AppError("conflict", "No job of the batch has failed or was cancelled.");
  const refused: BatchRetry["refused"][number][] = [];
  for (const { position, job } of again) {
    try {
      if (job) await retry(services, { submitter, id: job.id });
    } catch (error) {
      const { code, message } = toAppError(error);
      refused.push({ position, code, message });
    }
  }
  if (resumed.size > 0) refused.push(...(await goOn(services, address, resumed)));
  return { retried: again.length + resumed.size - refused.length, refused };
}

/** Begins the steps of these places; returns those that were stopped again. */
async function goOn(
  services: Services,
  address: BatchAddress,
  positions: ReadonlySet<number>,
): Promise<BatchRetry["refused"]> {
  await beginSteps(services, { batchId: address.id });
  const { jobs: places } = await getBatch(services, address);
  return places.flatMap(({ position, steps }) =>
    positions.has(position) && steps?.stopped ? [{ position, ...steps.stopped }] : [],
  );
}
