import { eq, sql } from "drizzle-orm";
import { schema } from "../db/index.ts";
import { AppError } from "../platform/index.ts";
import type { Services } from "../services.ts";
import { cancel } from "./cancel.ts";
import { removeJob } from "./cleanup.ts";
import { isFinal } from "./job.ts";
import { boundStream, streamLimits } from "../live/index.ts";
import { streamEvents } from "./follow.ts";
import { get, type JobAddress, type JobView } from "./read.ts";

export interface Collecting<T> {
  /** Aborts when the client leaves. */
  readonly signal: AbortSignal;
  readonly waitMs: number;
  /** Whether the client may wait on; asked from time to time. What it throws ends the wait. */
  readonly isAllowed: () => Promise<boolean>;
  /** Reads what the client gets of the completed job, which is removed afterwards. */
  read(job: JobView): Promise<T>;
}

/**
 * Waits for the end of an ephemeral job for a client that keeps its connection open, and removes the job whatever happens:
 * cancels it when the client leaves or the time is over. Throws the job's error, `engine_timeout` after `waitMs`.
 */
export async function collect<T>(
  services: Services,
  address: JobAddress,
  collecting: Collecting<T>,
): Promise<T> {
  const { signal, waitMs, isAllowed } = collecting;
  try {
    const late = AbortSignal.timeout(waitMs);
    const events = streamEvents(services, {
      ...address,
      after: 0,
      signal: AbortSignal.any([signal, late]),
    });
    for await (const event of boundStream(events, { ...streamLimits, isAllowed }))
      if (event && isFinal(event.status)) break;
    const job = await get(services, address);
    if (signal.aborted) throw new AppError("bad_request", "The client has left.");
    if (!isFinal(job.status))
      throw new AppError(
        "engine_timeout",
        "The picture was not done in the time of the request; the job is cancelled.",
      );
    if (job.status === "completed") return await collecting.read(job);
    throw job.error
      ? new AppError(job.error.code, job.error.message)
      : new AppError("conflict", "The job was cancelled.");
  } finally {
    await discard(services, address);
  }
}

/** Never throws: what could not be removed now is removed by the sweep, once the job has ended. */
async function discard(services: Services, address: JobAddress): Promise<void> {
  const { jobs } = schema;
  const { id } = address;
  try {
    // First: a running job is removed by its worker when it has stopped, and by the sweep after a crash of this process.
    await services.db
      .update(jobs)
      .set({ ackedAt: sql`now()` })
      .where(eq(jobs.id, id));
    const { status } = await cancel(services, address);
    if (isFinal(status)) await removeJob(services, id);
  } catch (error) {
    services.log.warn({ err: error, jobId: id }, "job of a waiting client not removed, the sweep will");
  }
}
