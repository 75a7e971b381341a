import { eq, sql } from "drizzle-orm";
import { schema } from "../db/index.ts";
import { type AppError, toAppError } from "../platform/index.ts";
import {
  type Attempt,
  endAttempt,
  failAttempt,
  findLostCalls,
  type ProviderError,
} from "../providers/index.ts";
import type { Services } from "../services.ts";
import { awaitOutcome, chargedUsd, awaitsEndOf } from "./cloud.ts";
import { scheduleDispatch } from "./dispatch.ts";
import { amend, hint, type Job, readJob, transition } from "./job.ts";
import { providerError } from "./provider-texts.ts";
import { insertOutputs, type StoredResult } from "./pictures.ts";
import { asksNext, findHome, homeReasonOf } from "./cloud-home.ts";
import { atRest, type OtherPlace } from "./rehome.ts";

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

export interface ProviderResult {
  readonly attempt: Attempt;
  readonly outputs: readonly StoredResult[];
  readonly costUsd: number | null;
  /** Sizes as texts, where a picture has another shape than the job asked for. */
  readonly shape: { readonly asked: string; readonly made: string } | null;
}

/**
 * Completes the job of an attempt and ends the attempt, in one transaction. Null when the job no longer waits for it: the
 * cost is stored all the same, and the caller deletes the files. Null, too, when the attempt has ended or another process
 * follows it now: nothing is stored. Idempotent: when the answer of the first call was lost, a second call returns what it
 * committed.
 */
export async function completeFromProvider(
  services: Services,
  { attempt, outputs, costUsd, shape }: ProviderResult,
): Promise<Job | null> {
  const job = await services.db.transaction(async (tx) => {
    if (!(await endAttempt(tx, attempt, { state: "succeeded", costUsd }))) return null;
    return transition(tx, {
      from: ["processing"],
      to: "completed",
      where: awaitsEndOf(attempt),
      set: { nodeId: null, server: attempt.provider, progress: 1, stage: null },
      event: "completed",
      data: {
        imageIds: outputs.map((output) => output.id),
        provider: attempt.provider,
        ...(shape === null ? {} : { shape }),
      },
      also: insertOutputs(outputs),
    });
  });
  if (job) hint(services, [job]);
  return job ?? jobWith(services, outputs);
}

/** The job that has these results. */
async function jobWith({ db }: Services, [first]: readonly StoredResult[]): Promise<Job | null> {
  const { images, jobs } = schema;
  if (!first) return null;
  const [found] = await db
    .select({ job: jobs })
    .from(images)
    .innerJoin(jobs, eq(jobs.id, images.jobId))
    .where(eq(images.id, first.id));
  return found?.job ?? null;
}

export interface ProviderFailure {
  readonly attempt: Attempt;
  readonly error: ProviderError;
  readonly costUsd: number | null;
}

/**
 * A run failed after the provider had accepted it: the provider is marked, and the job goes back to the line for the next
 * provider where the configuration says so, else to the own machines that can run it, else it fails.
 */
export async function failFromProvider(
  services: Services,
  { attempt, error, costUsd }: ProviderFailure,
): Promise<Job | null> {
  const goesOn = asksNext(error.class, "run", services.config.cloud);
  return end(services, { attempt, error, costUsd, goesOn });
}

/**
 * The provider never took the request, or refused it, and nothing was paid unless it had made something: the job goes back to
 * the line. One whose content is refused goes to the own machines that can run it, else it fails.
 */
export async function walkOn(
  services: Services,
  attempt: Attempt,
  error: ProviderError,
  costUsd: number | null = null,
): Promise<Job | null> {
  const goesOn = asksNext(error.class, "call", services.config.cloud);
  const paid = costUsd ?? chargedUsd(services, { attempt, error }) ?? 0;
  return end(services, { attempt, error, costUsd: paid, goesOn });
}

async function end(
  services: Services,
  { attempt, error, costUsd, goesOn }: ProviderFailure & { readonly goesOn: boolean },
): Promise<Job | null> {
  const failure = failureOf(attempt, error);
  const data = { provider: attempt.provider, class: error.class, code: failure.code };
  const home = goesOn ? null : await homeOf(services, { attempt, error, failure });
  const job = await services.db.transaction(async (tx) => {
    const paid = costUsd ?? chargedUsd(services, { attempt, error });
    if (!(await failAttempt(tx, attempt, { error, costUsd: paid }))) return null;
    if (home) {
      return transition(tx, {
        from: ["processing"],
        to: "pending",
        where: awaitsEndOf(attempt),
        set: { ...home.set, ...atRest },
        event: "went_home",
        data: { ...data, ...home.data },
      });
    }
    if (goesOn) {
      return transition(tx, {
        from: ["processing"],
        to: "pending",
        where: awaitsEndOf(attempt),
        set: { providerAttemptId: null, nodeId: null, progress: 0, stage: null },
        event: "provider_failed",
        data,
      });
    }
    return transition(tx, {
      from: ["processing"],
      to: "failed",
      where: awaitsEndOf(attempt),
      set: {
        nodeId: null,
        charged: sql`charged + 1`,
        errorCode: failure.code,
        errorMessage: failure.message,
        errorDetails: failure.details,
      },
      event: "failed",
      data,
    });
  });
  if (!job) return null;
  hint(services, [job]);
  if (job.status === "pending") await scheduleDispatch(services, job.queue);
  return job;
}

/** What the job fails with: of a result that came and could not be stored, the studio's own fault. */
function failureOf({ provider }: Attempt, error: ProviderError): AppError {
  if (error.class === "unstored") return toAppError(error.cause);
  return providerError({ provider, reason: error.class, words: error.words });
}

interface Ended {
  readonly attempt: Attempt;
  readonly error: ProviderError;
  readonly failure: AppError;
}

/** The own machines that take the job of an attempt over; null where none can, or its first failure ends it. */
async function homeOf(
  services: Services,
  { attempt: { jobId }, error, failure }: Ended,
): Promise<OtherPlace | null> {
  const because = error.class === "unstored" ? "failed" : homeReasonOf(failure.code);
  const job = because === null || jobId === null ? null : await readJob(services, jobId);
  return because === null || !job || job.once ? null : findHome(services, job, because);
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
 * Takes over the calls whose process died, or does not renew them: nobody knows whether the provider
 * accepted. Runs in each sweep.
 */
export async function takeOverLostCalls(services: Services): Promise<number> {
  const calls = await findLostCalls(services);
  for (const attempt of calls) await awaitOutcome(services, attempt, { firstLookS: 0, message: null });
  return calls.length;
}
