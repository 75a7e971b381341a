import { sql } from "drizzle-orm";
import { claimedStatuses, schema } from "../db/index.ts";
import { fromNow } from "../leases/index.ts";
import { AppError, isId } from "../platform/index.ts";
import {
  acceptAttempt,
  type Attempt,
  attemptsOf,
  type AttemptView,
  failedIn,
  isFollowed,
  loseAttempt,
  paidUsd,
  ProviderError,
  type RunHandle,
  toAttemptView,
} from "../providers/index.ts";
import type { Services } from "../services.ts";
import type { Skipped } from "./cloud-choice.ts";
import { scheduleDispatch } from "./dispatch.ts";
import { amend, heldBy, hint, type Job, type Lease, readJob, transition } from "./job.ts";

/** A call that was made for a job. */
export interface Call {
  readonly lease: Lease;
  readonly attempt: Attempt;
}

/**
 * The provider accepted: from here on the attempt owns the job, and no node. Stored also when the job was cancelled
 * meanwhile; then the attempt is cancelled by who follows it. False when the attempt was ended meanwhile, as one whose
 * caller seemed dead: nobody asks for the run.
 */
export async function handOver(services: Services, { attempt }: Call, handle: RunHandle): Promise<boolean> {
  const { pollS, runLimitS } = services.config.cloud;
  const job = await services.db.transaction(async (tx) => {
    await acceptAttempt(tx, attempt.id, { handle, pollAfterS: pollS, runLimitS });
    return amend(tx, {
      where: awaitsEndOf(attempt),
      set: { nodeId: null, stage: "provider", server: attempt.provider },
      event: "provider_accepted",
      data: { provider: attempt.provider },
    });
  });
  if (job) hint(services, [job]);
  return isFollowed(services.db, attempt.id);
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

/** How a provider refused a call. */
export interface Refusal {
  readonly error: ProviderError;
  /** As the provider states it; null when it does not. */
  readonly costUsd: number | null;
}

/**
 * The provider refused or failed; the job stays with the worker, which tries the next one. False when the lease is lost:
 * then nothing is written, since the attempt owns the job (`walkOn`). Idempotent: true also when the answer of a first call
 * was lost.
 */
export async function noteRefusal(
  services: Services,
  { lease, attempt }: Call,
  { error, costUsd }: Refusal,
): Promise<boolean> {
  const { id, provider } = attempt;
  const paid = costUsd ?? chargedUsd(services, { attempt, error });
  const job = await amend(services.db, {
    where: sql`${heldBy(lease)} and ${awaitsEndOf(attempt)}`,
    set: { providerAttemptId: null },
    also: failedIn(services.db, id, { error, costUsd: paid }),
    event: "provider_failed",
    data: { provider, class: error.class },
  });
  if (job) hint(services, [job]);
  return job !== null || (await isWithout(services, lease));
}

/** Whether the worker has the job, and no attempt does. */
async function isWithout({ db }: Services, lease: Lease): Promise<boolean> {
  return (await db.$count(schema.jobs, sql`${heldBy(lease)} and provider_attempt_id is null`)) > 0;
}

/** The price of a call that was refused after the provider had made something; null for others, which cost nothing. */
export function chargedUsd(
  { config }: Pick<Services, "config">,
  { attempt, error }: { readonly attempt: Attempt; readonly error: ProviderError },
): number | null {
  return error.isCharged ? paidUsd(config, attempt) : null;
}

/** How long after a lost answer the provider is asked first. */
const firstLookS = 3;

/** The answer to the call was lost: the attempt owns the job until it is known what became of the call. */
export function noteLostReply(services: Services, { attempt }: Call, error: ProviderError): Promise<void> {
  return awaitOutcome(services, attempt, { firstLookS, message: error.message });
}

/** Moves a call whose outcome is not known, and its job, which then waits for no node. Nothing when the call has an outcome. */
export async function awaitOutcome(
  services: Services,
  attempt: Attempt,
  lost: { readonly firstLookS: number; readonly message: string | null },
): Promise<void> {
  const job = await services.db.transaction(async (tx) => {
    if (!(await loseAttempt(tx, services.config, attempt.id, lost))) return null;
    return amend(tx, {
      where: awaitsEndOf(attempt),
      set: { nodeId: null, stage: "reconciling", server: attempt.provider },
      event: "provider_lost",
      data: { provider: attempt.provider },
    });
  });
  if (job) hint(services, [job]);
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
