import { sql } from "drizzle-orm";
import { AppError, isId } from "../platform/index.ts";
import {
  acceptAttempt,
  type Attempt,
  attemptsOf,
  type AttemptView,
  changeAttempt,
  type CloudModel,
  failAttempt,
  isFollowed,
  isOpenState,
  type ModelOffer,
  type ProviderError,
  type ProviderKey,
  readChain,
  reserve,
  type RunHandle,
  toAttemptView,
} from "../providers/index.ts";
import type { Services } from "../services.ts";
import { scheduleDispatch } from "./dispatch.ts";
import { amend, claimedStatuses, heldBy, hint, type Job, type Lease, readJob, transition } from "./job.ts";

/** A job that a worker is about to hand to a provider. */
export interface CloudRun {
  readonly job: Job;
  readonly lease: Lease;
  readonly model: CloudModel;
  /** The keys of this process. */
  readonly keys: readonly ProviderKey[];
}

/** The next step of a job along its chain. */
export type NextHop =
  /** The intent is stored: call the provider now. */
  | {
      readonly kind: "call";
      readonly attempt: Attempt;
      readonly offer: ModelOffer;
      readonly key: ProviderKey;
    }
  /** Each provider that is left is at a limit or cools down. */
  | { readonly kind: "wait"; readonly waitMs: number; readonly skipped: readonly Skipped[] }
  /** Each provider has failed. */
  | { readonly kind: "exhausted"; readonly failed: readonly Attempt[] }
  /** The lease is no longer current. */
  | { readonly kind: "fenced" };

/** A provider that was passed over, and why. */
export interface Skipped {
  readonly provider: string;
  readonly why: "busy" | "rate" | "cooldown";
}

class Fenced extends Error {}

/**
 * Finds the first provider of the chain that has not failed this job and has room for it, and stores the intent to call
 * it. Each provider is judged in a transaction of its own, so that no lock waits for another. Throws `budget_exceeded`.
 */
export async function nextHop(services: Services, { job, lease, model, keys }: CloudRun): Promise<NextHop> {
  const [chain, attempts] = await Promise.all([
    readChain(services.db, model),
    attemptsOf(services.db, job.id),
  ]);
  const open = attempts.find(({ state }) => isOpenState(state));
  if (open) return adopt(services, lease, open);
  const failed = attempts.filter(({ state }) => state === "failed");
  const left = chain.filter(({ provider }) => !hasFailed(failed, provider));
  const waits: number[] = [];
  const skipped: Skipped[] = [];
  for (const offer of left) {
    const own = keys.filter(({ provider }) => provider === offer.provider);
    if (own.length === 0) continue;
    const reserved = await reserveFor(services, { job, lease, model, keys: own }, { offer, skipped });
    if (reserved === null) return { kind: "fenced" };
    if ("attempt" in reserved) {
      // The reservation raised the revision.
      return { kind: "call", offer, ...reserved };
    }
    waits.push(reserved.busy.waitMs);
    skipped.push({ provider: offer.provider, why: reserved.busy.why });
  }
  return waits.length > 0
    ? { kind: "wait", waitMs: Math.min(...waits), skipped }
    : { kind: "exhausted", failed };
}

/** A provider has the job, or may have it: nothing is called, and the job belongs to that attempt again. */
async function adopt(services: Services, lease: Lease, attempt: Attempt): Promise<NextHop> {
  const job = await amend(services.db, {
    where: sql`${heldBy(lease)} and status = 'processing'`,
    set: { providerAttemptId: attempt.id, nodeId: null, server: attempt.provider, stage: "reconciling" },
    event: "provider_lost",
    data: { provider: attempt.provider },
  });
  if (job) hint(services, [job]);
  return { kind: "fenced" };
}

/** Failures of these classes do not count against a provider, up to so many for one job. */
const forgiven: Readonly<Record<string, number>> = { rate: 10, capacity: 10, unsent: 3 };

/** A provider that was too busy is asked again after its pause, as is one that a request never reached. */
function hasFailed(failed: readonly Attempt[], provider: string): boolean {
  const own = failed.filter((attempt) => attempt.provider === provider);
  const counts = new Map<string, number>();
  for (const { errorClass } of own) {
    const name = errorClass ?? "internal";
    counts.set(name, (counts.get(name) ?? 0) + 1);
  }
  return [...counts].some(([name, count]) => count >= (forgiven[name] ?? 1));
}

interface Hop {
  readonly offer: ModelOffer;
  readonly skipped: readonly Skipped[];
}

async function reserveFor(
  services: Services,
  { job, lease, model, keys }: CloudRun,
  { offer, skipped }: Hop,
) {
  const { db, config } = services;
  const { id: jobId, ownerId } = job;
  try {
    return await db.transaction(async (tx) => {
      const { nodeId } = lease;
      const reserved = await reserve(tx, config, { jobId, ownerId, nodeId, model: model.id, offer, keys });
      if ("busy" in reserved) return reserved;
      const held = await amend(tx, {
        where: sql`${heldBy(lease)} and status = 'processing'`,
        set: { providerAttemptId: reserved.attempt.id, stage: "submitting" },
        event: "provider_tried",
        data: { provider: offer.provider, ...(skipped.length > 0 ? { skipped } : {}) },
      });
      if (!held) throw new Fenced();
      hint(services, [held]);
      return reserved;
    });
  } catch (error) {
    if (error instanceof Fenced) return null;
    throw error;
  }
}

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
      where: ownedBy(attempt),
      set: { nodeId: null, stage: "provider", server: attempt.provider },
      event: "provider_accepted",
      data: { provider: attempt.provider },
    });
  });
  if (job) hint(services, [job]);
  return isFollowed(services.db, attempt.id);
}

/** SQL condition: the job waits for the end of this attempt. */
export function ownedBy({ id, jobId }: Pick<Attempt, "id" | "jobId">) {
  return sql`id = ${jobId} and provider_attempt_id = ${id} and status = 'processing'`;
}

/**
 * The provider refused or failed; the job stays with the worker, which tries the next one. False when the lease is lost:
 * then nothing is written, since the attempt owns the job (`walkOn`).
 */
export async function noteRefusal(
  services: Services,
  { lease, attempt }: Call,
  error: ProviderError,
): Promise<boolean> {
  const { provider } = attempt;
  const job = await services.db.transaction(async (tx) => {
    const kept = await amend(tx, {
      where: sql`${heldBy(lease)} and ${ownedBy(attempt)}`,
      set: { providerAttemptId: null },
      event: "provider_failed",
      data: { provider, class: error.class },
    });
    if (kept) await failAttempt(tx, attempt.id, { error, costUsd: null });
    return kept;
  });
  if (job) hint(services, [job]);
  return job !== null;
}

/** How long after a lost answer the provider is asked first. */
const firstLookS = 3;

/** The answer to the call was lost: the attempt owns the job until it is known what became of the call. */
export async function noteLostReply(
  services: Services,
  { attempt }: Call,
  error: ProviderError,
): Promise<void> {
  const { db, config } = services;
  const job = await db.transaction(async (tx) => {
    await changeAttempt(tx, {
      id: attempt.id,
      from: ["submitting"],
      set: {
        state: "unknown",
        nodeId: null,
        errorMessage: error.message.slice(0, 1_000),
        nextPollAt: sql`clock_timestamp() + ${firstLookS} * interval '1 second'`,
        deadlineAt: sql`clock_timestamp() + ${config.cloud.reconcileS} * interval '1 second'`,
      },
    });
    return amend(tx, {
      where: ownedBy(attempt),
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
      notBefore: sql`clock_timestamp() + ${waitMs} * interval '1 millisecond'`,
    },
    honourCancel: true,
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

/** The error of a job whose whole chain failed, with the reason of each provider. */
export function chainError(failed: readonly Attempt[]): AppError {
  const reasons = failed.map(({ provider, errorClass }) => ({ provider, reason: errorClass ?? "internal" }));
  if (reasons.length === 0) {
    return new AppError("providers_failed", "No provider of this model is switched on and has a key.");
  }
  const text = reasons
    .map(({ provider, reason }) => `${provider}: ${reasonTexts[reason] ?? reason}`)
    .join("; ");
  return new AppError("providers_failed", `None of the providers could make the picture (${text}).`, {
    details: { providers: reasons },
  });
}

const reasonTexts: Readonly<Record<string, string>> = {
  capacity: "no room for more runs",
  rate: "too many requests",
  transient: "could not be reached or failed",
  lost: "its answer was lost",
  unsent: "did not get the request",
  input: "refused the input",
  moderation: "refused the content",
  auth: "refused the key",
  credit: "the account has no credit left",
  timeout: "took too long",
  internal: "failed",
};
