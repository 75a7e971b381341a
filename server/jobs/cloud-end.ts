import { inArray, sql } from "drizzle-orm";
import { type PlacedBecause, schema } from "../db/index.ts";
import { persist } from "../leases/index.ts";
import { type AppError, toAppError } from "../platform/index.ts";
import {
  acceptAttempt,
  type Attempt,
  attemptHoldMs,
  endAttempt,
  failAttempt,
  failedIn,
  findLostCalls,
  isFollowed,
  loseAttempt,
  paidUsd,
  ProviderError,
  type RunHandle,
  takeUnheldAttempts,
} from "../providers/index.ts";
import type { Services } from "../services.ts";
import { type Call, awaitsEndOf } from "./cloud.ts";
import { asksNext, findHome, homeReasonOf } from "./cloud-home.ts";
import { scheduleDispatch } from "./dispatch.ts";
import { fail } from "./fail.ts";
import { amend, heldBy, hint, type Lease, readJob, transition } from "./job.ts";
import { insertOutputs, type StoredResult } from "./pictures.ts";
import { providerError } from "./provider-texts.ts";
import { atRest, type OtherPlace } from "./rehome.ts";

/**
 * How a call to a provider ended, or the run that it began, and what becomes of the job:
 *
 *   accepted   the provider has the run: the attempt owns the job from here on, and no node
 *   lost       the answer did not come: the same, until it is known what became of the call
 *   refused    nothing was taken: the worker that called keeps the job and asks the next provider; where that worker has lost its
 *              lease, or the call is found out later, the job goes on as after `failed`
 *   failed     the run failed: the line, the own machines, or the job's end, as `cloud-home.ts` says
 *   unusable   the provider made something that the studio cannot take: the same, at its price
 *   made       the pictures are stored: the job is completed
 */
type CallEnd =
  | { readonly as: "accepted"; readonly handle: RunHandle }
  | { readonly as: "lost"; readonly error: ProviderError }
  | Failure
  | Result;

interface Failure {
  readonly as: "refused" | "failed" | "unusable";
  readonly error: ProviderError;
  /** As the provider states it; null when it does not. */
  readonly costUsd: number | null;
}

interface Result {
  readonly as: "made";
  readonly outputs: readonly StoredResult[];
  readonly costUsd: number | null;
  /** Sizes as texts, where a picture has another shape than the job asked for. */
  readonly shape: { readonly asked: string; readonly made: string } | null;
}

/** An attempt, with the lease of the worker that made its call; a follower has none. */
interface Ending {
  readonly attempt: Attempt;
  readonly lease?: Lease;
  /** Ends the wait for the database, for an end that another process can find out again. */
  readonly signal?: AbortSignal;
}

/**
 * What has become of the job. `next`: its worker asks the next provider; `failed`: it has failed, or goes on elsewhere;
 * `fenced`: the attempt has ended, another process has it, or nothing waits for it, and the caller clears away what it has.
 */
export type CallEnded = "accepted" | "lost_reply" | "next" | "failed" | "completed" | "fenced";

/**
 * Writes the end of a call or of a run, which may have been paid for; the only way to end one for which a job waits. While the
 * database is away it is tried as long as no other process takes the attempt over. Idempotent, since a commit may come without
 * an answer.
 */
export function endCall(services: Services, ending: Ending, end: CallEnd): Promise<CallEnded> {
  const { signal } = ending;
  const patience = { patienceMs: attemptHoldMs, ...(signal && { signal }) };
  return persist(() => writeEnd(services, ending, end), patience);
}

async function writeEnd(services: Services, ending: Ending, end: CallEnd): Promise<CallEnded> {
  const { attempt } = ending;
  switch (end.as) {
    case "accepted":
      return (await accept(services, attempt, end.handle)) ? "accepted" : "fenced";
    case "lost":
      await lose(services, attempt, { firstLookS, message: end.error.message });
      return "lost_reply";
    case "refused":
      return refuse(services, ending, end);
    case "failed":
    case "unusable":
      return (await goOn(services, attempt, end)) ? "failed" : "fenced";
    case "made":
      return (await complete(services, attempt, end)) ? "completed" : "fenced";
  }
}

/**
 * Stored also when the job was cancelled meanwhile: the follower of the attempt then cancels it. False when the attempt was ended
 * meanwhile, because its caller seemed dead; nobody will ask for that run.
 */
async function accept(services: Services, attempt: Attempt, handle: RunHandle): Promise<boolean> {
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

/** How long after a lost answer the provider is asked first. */
const firstLookS = 3;

/** Moves a call whose outcome is not known, and its job, which then waits for no node. Nothing when the call has an outcome. */
async function lose(
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

/**
 * Takes over the calls whose process died or no longer renews them. Whether the provider accepted them is not known. Runs in
 * each sweep.
 */
export async function takeOverLostCalls(services: Services): Promise<number> {
  const calls = await findLostCalls(services);
  for (const attempt of calls) await lose(services, attempt, { firstLookS: 0, message: null });
  return calls.length;
}

/**
 * Ends the runs whose key no worker holds any more, at their price: they may have been made and charged. Their jobs go on as after
 * a lost answer. Runs in each sweep.
 */
export async function endUnheldRuns(services: Services): Promise<number> {
  const runs = await takeUnheldAttempts(services);
  for (const attempt of runs) {
    services.log.warn(
      { jobId: attempt.jobId, provider: attempt.provider },
      "run given up, no worker has its key",
    );
    const error = new ProviderError("lost", "No worker holds the key of the run any more.");
    await goOn(services, attempt, { as: "failed", error, costUsd: null });
  }
  return runs.length;
}

async function refuse(
  services: Services,
  { attempt, lease }: Ending,
  refusal: Failure,
): Promise<"next" | "failed" | "fenced"> {
  if (!lease || !(await leaveWithWorker(services, { attempt, lease }, refusal)))
    return (await goOn(services, attempt, refusal)) ? "failed" : "fenced";
  if (asksNext(refusal.error.class, "call", services.config.cloud)) return "next";
  return (await fail(services, lease, failureOf(attempt, refusal.error))) ? "failed" : "fenced";
}

/** Ends the attempt and leaves the job with its worker. False when the lease is lost: then nothing is written. */
async function leaveWithWorker(
  services: Services,
  { attempt, lease }: Call,
  refusal: Failure,
): Promise<boolean> {
  const { id, provider } = attempt;
  const { error } = refusal;
  const job = await amend(services.db, {
    where: sql`${heldBy(lease)} and ${awaitsEndOf(attempt)}`,
    set: { providerAttemptId: null },
    also: failedIn(services.db, id, { error, costUsd: costOf(services, attempt, refusal) }),
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

/** What a failure costs: what the provider states, else the price where it had made something. */
function costOf({ config }: Services, attempt: Attempt, { as, error, costUsd }: Failure): number | null {
  return costUsd ?? (as === "unusable" || error.isCharged ? paidUsd(config, attempt) : null);
}

/** Ends the attempt as failed; its job goes back to the line for the next provider, or home, or fails. */
async function goOn(services: Services, attempt: Attempt, ended: Failure): Promise<boolean> {
  const { as, error } = ended;
  const isRefusal = as === "refused";
  const asksAnother = asksNext(error.class, isRefusal ? "call" : "run", services.config.cloud);
  const failure = failureOf(attempt, error);
  const because = error.class === "unstored" ? "failed" : homeReasonOf(failure.code);
  const home = asksAnother ? null : await homeOf(services, attempt, because);
  const costUsd = costOf(services, attempt, ended) ?? (isRefusal ? 0 : null);
  const moved = { from: ["processing"], where: awaitsEndOf(attempt) } as const;
  const data = { provider: attempt.provider, class: error.class, code: failure.code };
  const job = await services.db.transaction(async (tx) => {
    if (!(await failAttempt(tx, attempt, { error, costUsd }))) return null;
    if (home) {
      const set = { ...home.set, ...atRest };
      const event = "went_home";
      return transition(tx, { ...moved, to: "pending", set, event, data: { ...data, ...home.data } });
    }
    if (asksAnother) {
      const set = { providerAttemptId: null, nodeId: null, progress: 0, stage: null };
      return transition(tx, { ...moved, to: "pending", set, event: "provider_failed", data });
    }
    const set = {
      nodeId: null,
      charged: sql`charged + 1`,
      errorCode: failure.code,
      errorMessage: failure.message,
      errorDetails: failure.details,
    };
    return transition(tx, { ...moved, to: "failed", set, event: "failed", data });
  });
  if (!job) return false;
  hint(services, [job]);
  if (job.status === "pending") await scheduleDispatch(services, job.queue);
  return true;
}

/** What the job fails with: of a result that came and could not be stored, the studio's own fault. */
function failureOf({ provider }: Attempt, error: ProviderError): AppError {
  if (error.class === "unstored") return toAppError(error.cause);
  return providerError({ provider, reason: error.class, words: error.words });
}

/** The own machines that take the job of an attempt over; null where none can, or its first failure ends it. */
async function homeOf(
  services: Services,
  { jobId }: Attempt,
  because: PlacedBecause | null,
): Promise<OtherPlace | null> {
  const job = because === null || jobId === null ? null : await readJob(services, jobId);
  return because === null || !job || job.once ? null : findHome(services, job, because);
}

/**
 * False when the job no longer waits for the attempt: the cost is stored all the same. False, too, when the attempt has ended
 * or another process follows it now: nothing is stored. True when a first call, whose answer was lost, has stored the results.
 */
async function complete(
  services: Services,
  attempt: Attempt,
  { outputs, costUsd, shape }: Result,
): Promise<boolean> {
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
  const { images } = schema;
  const ids = outputs.map(({ id }) => id);
  return job !== null || (await services.db.$count(images, inArray(images.id, ids))) > 0;
}
