import { setTimeout as sleep } from "node:timers/promises";
import { noteCompleted } from "@atelier/server/batches";
import {
  cancelFromProvider,
  endCall,
  isFinal,
  type Job,
  noteProviderProgress,
  readJob,
} from "@atelier/server/jobs";
import {
  type Attempt,
  attemptHoldMs,
  type DueAttempt,
  endAttempt,
  holdAttempt,
  ownOutageMs,
  postponeAttempt,
  ProviderError,
  type RunState,
  takeDueAttempts,
} from "@atelier/server/providers";
import { persist } from "@atelier/server/leases";
import { backoffMs } from "@atelier/server/platform";
import type { Services } from "@atelier/server/services";
import { withTempFolder } from "@atelier/server/storage";
import { type Loop, startLoop } from "../base/loop.ts";
import { createSlots } from "../base/slots.ts";
import type { Incarnation } from "../base/index.ts";
import { endsRun, faultOf, isOwnOutage } from "./fetch-result.ts";
import { finishRun } from "./results.ts";
import { type Followed, handleOf, reconcile } from "./reconcile.ts";
import { readCloudInputs } from "./submission.ts";
import type { Providers } from "./cloud-job.ts";

/** Attempts that one process follows at once. */
const maxFollowed = 8;
const lookMs = 500;
/** The calls of one look at an attempt, and the fetch of its results. */
const followLimitMs = 150_000;

/**
 * Follows the runs that providers have: asks about those that are due, and finishes, fails or cancels their jobs. Any
 * worker with the key does; a webhook only makes an attempt due at once. `stop` ends the calls under way and gives their
 * attempts back, due at once: each look is safe to do twice.
 */
export function startFollowing(
  services: Services,
  providers: Providers,
  incarnation: Pick<Incarnation, "current">,
): Loop {
  const { keys } = providers;
  const stopped = new AbortController();
  const keyIds = keys.map(({ keyId }) => keyId);
  const followed = createSlots<null>({ max: maxFollowed, onFree: () => loop.wake() });
  const loop = startLoop(services.log, "providers", async () => {
    const limit = followed.free();
    const nodeId = incarnation.current()?.id;
    if (limit === 0 || nodeId === undefined) return lookMs;
    const due = await takeDueAttempts(services, { nodeId, keyIds, heldIds: followed.ids(), limit });
    for (const attempt of due)
      followed.begin(attempt.id, null, () =>
        holdAttempt(services, attempt, () =>
          follow({ services, providers, stopped: stopped.signal }, attempt),
        ),
      );
    return lookMs;
  });
  return {
    wake: () => loop.wake(),
    async stop() {
      stopped.abort(new Error("the process stops"));
      await loop.stop();
      await followed.close();
    },
  };
}

interface Following {
  readonly services: Services;
  readonly providers: Providers;
  readonly stopped: AbortSignal;
}

/** One look at an attempt. Never throws: what fails is tried again at the next look, until the deadline. */
async function follow({ services, providers, stopped }: Following, attempt: DueAttempt): Promise<void> {
  const { keys, clientOf } = providers;
  const { jobId, provider, requestId } = attempt;
  const log = services.log.child({ jobId, provider, ...(requestId === null ? {} : { requestId }) });
  const key = keys.find(({ keyId }) => keyId === attempt.keyId);
  if (!key) return;
  const followed = {
    attempt,
    key,
    client: clientOf(key.provider),
    signal: AbortSignal.any([stopped, AbortSignal.timeout(followLimitMs)]),
    stopped,
  };
  try {
    await look({ ...services, log }, followed);
  } catch (error) {
    await afterFault({ ...services, log }, followed, error).catch(async (cause: unknown) => {
      log.warn({ err: cause }, "the look was not noted");
      // By its row it is still due.
      await sleep(pauseMs(services, attempt), null, { signal: stopped }).catch(() => undefined);
    });
  }
}

async function afterFault(services: Services, followed: Followed, error: unknown): Promise<void> {
  const { attempt, stopped } = followed;
  if (stopped.aborted) return postponeAttempt(services, attempt, 0);
  services.log.warn({ err: error }, "a run at a provider could not be followed");
  if (isOver(attempt, error)) return giveUp(services, followed);
  // A look that is not noted keeps the run from all others for as long.
  const patience = { patienceMs: attemptHoldMs, signal: stopped };
  return persist(() => postponeAttempt(services, attempt, pauseMs(services, attempt)), patience);
}

const isOver = ({ isOverdue, ageMs }: DueAttempt, error: unknown) =>
  isOverdue && (!isOwnOutage(error) || ageMs > ownOutageMs);

async function look(services: Services, followed: Followed): Promise<void> {
  const { attempt } = followed;
  const job = attempt.jobId === null ? null : await readJob(services, attempt.jobId);
  const isWanted = job?.status === "processing" && job.providerAttemptId === attempt.id;
  if (isWanted && job.cancelRequestedAt !== null) await cancelRun(services, followed);
  else if (attempt.state === "unknown") await reconcile(services, followed, isWanted ? job : null);
  else await ask(services, followed, { job: isWanted ? job : null, isOver: !job || isFinal(job.status) });
}

/** The job ends at once, also while the provider is silent; its run is followed further, since it may cost something. */
async function cancelRun(services: Services, followed: Followed): Promise<void> {
  const { attempt } = followed;
  const cancelled = await cancelFromProvider(services, attempt);
  if (cancelled && attempt.state === "accepted") await stopRun(services, followed);
  await postponeAttempt(services, attempt, pauseMs(services, attempt));
}

/**
 * Asks the provider to stop a run that nobody waits for; whether it does. Safe to do again: each look at a run whose job has ended
 * does while the run goes on.
 */
async function stopRun(services: Services, followed: Followed): Promise<boolean> {
  const { attempt, key, client, signal, stopped } = followed;
  const answer = await client.cancel(key.access, handleOf(attempt), signal).catch((error: unknown) => {
    stopped.throwIfAborted();
    services.log.warn({ err: error }, "the provider could not be asked to stop a run");
    return "unsupported";
  });
  services.log[answer === "requested" ? "info" : "debug"]({ answer }, "cancel at the provider");
  return answer === "requested";
}

interface Asked {
  /** Null when it does not wait for this run. */
  readonly job: Job | null;
  /** The job has ended, before the run was known or although the provider was asked to stop it. */
  readonly isOver: boolean;
}

async function ask(services: Services, followed: Followed, { job, isOver }: Asked): Promise<void> {
  const { attempt, key, client, signal, stopped } = followed;
  let isHeldOff = false;
  const run = await client.get(key.access, handleOf(attempt), signal).catch((error: unknown) => {
    stopped.throwIfAborted();
    isHeldOff = error instanceof ProviderError && holdsOff.includes(error.class);
    return unanswered(error, attempt);
  });
  if (run === null || isOpen(run)) {
    if (attempt.isOverdue) return giveUp(services, followed);
    if (isOver && !isHeldOff) await stopRun(services, followed);
    if (run && job) {
      const stage = run.state === "queued" ? "provider_queue" : "provider";
      await noteProviderProgress(services, attempt, { progress: run.progress ?? 0, stage });
    }
    return postponeAttempt(services, attempt, pauseMs(services, attempt));
  }
  await end(services, followed, { run, job });
}

/** Refusals of the key or of the number of its calls: another call with it gets the same, and takes from what its jobs may call. */
const holdsOff: readonly string[] = ["rate", "auth", "credit"];

type Open = Extract<RunState, { progress: number | null }>;

function isOpen(run: RunState): run is Open {
  return run.state === "queued" || run.state === "running";
}

/** Some providers do not know a run yet right after they accepted it. */
const unknownMs = 60_000;

/**
 * What keeps the provider from answering now, such as an answer that cannot be read (`internal`). Any other refusal means
 * that it does not know the run any more. An answer that is too large for a run without a result would be so again.
 */
const passing: readonly string[] = ["transient", "timeout", "rate", "capacity", "auth", "credit", "internal"];

function unanswered(error: unknown, { acceptedMs }: Pick<DueAttempt, "acceptedMs">): RunState | null {
  if (!(error instanceof ProviderError)) throw error;
  if (error.isCharged) return { state: "failed", error, costUsd: null };
  if (passing.includes(error.class) || acceptedMs < unknownMs) return null;
  const lost = new ProviderError("lost", `The provider no longer knows the run: ${error.message}`);
  return { state: "failed", error: lost, costUsd: null };
}

type Ended = Exclude<RunState, Open>;

async function end(
  services: Services,
  followed: Followed,
  { run, job }: { readonly run: Ended; readonly job: Job | null },
): Promise<void> {
  const { attempt, stopped: signal } = followed;
  const { costUsd } = run;
  if (run.state === "failed") {
    services.log.warn({ class: run.error.class, reason: run.error.message }, "run failed at the provider");
    await endCall(services, { attempt, signal }, { as: "failed", error: run.error, costUsd });
  } else if (job === null) {
    await endAttempt(services.db, attempt, { state: run.state, costUsd });
  } else if (run.state === "cancelled") {
    const error = new ProviderError("internal", "The run was cancelled at the provider.");
    await endCall(services, { attempt, signal }, { as: "failed", error, costUsd });
  } else {
    await takeResults(services, followed, { run, job });
  }
}

async function takeResults(
  services: Services,
  { attempt, key, signal, stopped }: Followed,
  { run, job }: { readonly run: Ended & { readonly state: "succeeded" }; readonly job: Job },
): Promise<void> {
  const { outputs, costUsd } = run;
  await noteProviderProgress(services, attempt, { progress: 0.99, stage: "fetching" });
  try {
    const outcome = await withTempFolder(services.env, async (workDir) => {
      const { files } =
        job.kind === "inpaint"
          ? await readCloudInputs(services, job, { workDir, signal: stopped })
          : { files: {} };
      const isLastTry = attempt.isOverdue;
      const made = { job, attempt, access: key.access, outputs, costUsd, files, workDir };
      return finishRun(services, { ...made, signal, stopped, isLastTry });
    });
    if (outcome) noteCompleted(services);
    services.log.info({ outcome: outcome ? "completed" : "no longer wanted" }, "run at the provider ended");
  } catch (caught) {
    stopped.throwIfAborted();
    if (!endsRun(caught) && !isOver(attempt, caught)) throw caught;
    const error = faultOf(caught);
    await endCall(services, { attempt, signal: stopped }, { as: "unusable", error, costUsd });
  }
}

/**
 * Whatever keeps failing, a run ends with its deadline: its key is not held for ever. One that the provider does not stop may be
 * made and charged all the same, so its price counts.
 */
async function giveUp(services: Services, followed: Followed): Promise<void> {
  const { attempt, stopped } = followed;
  const isStopped = attempt.state === "accepted" && (await stopRun(services, followed));
  const error = isStopped
    ? new ProviderError("timeout", "The run took too long.")
    : new ProviderError("lost", "The run took too long, and the provider did not stop it.");
  await endCall(services, { attempt, signal: stopped }, { as: "failed", error, costUsd: null });
}

/** The pause before the next look, half as long again after each. */
function pauseMs({ config }: Pick<Services, "config">, { polls }: Attempt): number {
  const { pollS, maxPollS } = config.cloud;
  return backoffMs(polls + 1, { firstMs: pollS * 1_000, mostMs: maxPollS * 1_000, factor: 1.5 });
}
