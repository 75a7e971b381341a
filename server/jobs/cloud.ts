import { sql } from "drizzle-orm";
import { claimedStatuses, fromNow } from "../db/index.ts";
import { AppError, isId } from "../platform/index.ts";
import {
  type Attempt,
  attemptsOf,
  type AttemptView,
  hasNoHolder,
  ProviderError,
  toAttemptView,
} from "../providers/index.ts";
import type { Services } from "../services.ts";
import type { Skipped } from "./cloud-choice.ts";
import { scheduleDispatch } from "./dispatch.ts";
import { amend, heldBy, hint, type Job, type Lease, readJob, transition, transitionAll } from "./job.ts";

/** A call that was made for a job. */
export interface Call {
  readonly lease: Lease;
  readonly attempt: Attempt;
}

/** An answer that took longer may be older than what another worker did since. */
const checkMs = 5_000;

/**
 * Whether the call may still be made: a worker that was away, such as while its pictures were sent, may have been taken for
 * dead, and then somebody else looks for its call and makes another one. Throws `unsent`.
 */
export async function checkIntent({ db }: Services, { lease, attempt }: Call): Promise<void> {
  const startedAt = performance.now();
  const isOpen = sql`exists (select from provider_attempts a where a.id = ${attempt.id} and a.state = 'submitting')`;
  const rows = await db
    .execute(sql`select 1 as held from jobs where ${heldBy(lease)} and ${awaitsEndOf(attempt)} and ${isOpen}`)
    .catch((error: unknown) => {
      throw new ProviderError("unsent", "Whether the call may be made could not be read.", { cause: error });
    });
  if (rows.length !== 1 || performance.now() - startedAt > checkMs)
    throw new ProviderError("unsent", "The job was taken over before the call was made.");
}

/** SQL condition: the job waits for the end of this attempt. */
export function awaitsEndOf({ id, jobId }: Pick<Attempt, "id" | "jobId">) {
  return sql`id = ${jobId} and provider_attempt_id = ${id} and status = 'processing'`;
}

/** Stores the progress of a run at the provider, when it is news. */
export async function noteProviderProgress(
  services: Services,
  attempt: Attempt,
  { progress, stage }: { readonly progress: number; readonly stage: string },
): Promise<void> {
  const job = await amend(services.db, {
    where: sql`${awaitsEndOf(attempt)} and (stage is distinct from ${stage} or progress < ${progress})`,
    set: { progress, stage },
    event: "progress",
    data: { progress, stage },
  });
  if (job) hint(services, [job]);
}

/** Cancels the job of an attempt, whose run is followed to its end, for its cost alone. */
export async function cancelFromProvider(services: Services, attempt: Attempt): Promise<Job | null> {
  const job = await transition(services.db, {
    from: ["processing"],
    to: "cancelled",
    where: sql`${awaitsEndOf(attempt)} and cancel_requested_at is not null`,
    set: { nodeId: null },
    event: "cancelled",
  });
  if (job) hint(services, [job]);
  return job;
}

/**
 * Cancels the jobs with a request to stop whose run no worker can ask about, since none has its key: a follower would end
 * them first, too, and asks for the run later. Runs in each sweep.
 */
export async function cancelUnheldJobs(services: Services): Promise<Job[]> {
  const cancelled = await transitionAll(services.db, {
    from: ["processing"],
    to: "cancelled",
    where: sql`cancel_requested_at is not null and provider_attempt_id in (select a.id from provider_attempts a where ${hasNoHolder})`,
    set: { nodeId: null },
    event: "cancelled",
  });
  hint(services, cancelled);
  return cancelled;
}

/** All providers are busy: the job goes to the end of the line, uncharged. Null when the lease is lost. */
export async function waitForProvider(
  services: Services,
  lease: Lease,
  { waitMs, skipped }: { readonly waitMs: number; readonly skipped: readonly Skipped[] },
): Promise<Job | null> {
  const job = await transition(services.db, {
    from: claimedStatuses,
    to: "pending",
    where: heldBy(lease),
    set: {
      nodeId: null,
      progress: 0,
      stage: null,
      ownerOrder: sql`extract(epoch from clock_timestamp()) * 1000`,
      notBefore: fromNow(waitMs),
    },
    event: "providers_busy",
    data: { skipped },
  });
  if (!job) return null;
  hint(services, [job]);
  await scheduleDispatch(services, job.queue);
  return job;
}

/** The requests to providers for a job of the owner, oldest first. Throws `not_found`. */
export async function readJobAttempts(
  services: Services,
  { ownerId, id }: { readonly ownerId: string; readonly id: string },
): Promise<AttemptView[]> {
  const job = isId(id) ? await readJob(services, id) : null;
  if (job?.ownerId !== ownerId) throw new AppError("not_found");
  return (await attemptsOf(services.db, id)).map(toAttemptView);
}
