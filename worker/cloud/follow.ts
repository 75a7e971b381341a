import { noteCompleted } from "@atelier/server/batches";
import {
  cancelFromProvider,
  failFromProvider,
  type Job,
  noteProviderProgress,
  readJob,
  walkOn,
} from "@atelier/server/jobs";
import {
  acceptAttempt,
  type Attempt,
  type DueAttempt,
  endAttempt,
  findModel,
  modelsOf,
  paidUsd,
  postponeAttempt,
  type ProviderClient,
  ProviderError,
  type ProviderKey,
  type RunHandle,
  type RunState,
  takeDueAttempts,
} from "@atelier/server/providers";
import { isAppError } from "@atelier/server/platform";
import type { Services } from "@atelier/server/services";
import { withTempFolder } from "@atelier/server/storage";
import { type Loop, startLoop } from "../base/loop.ts";
import { createSlots } from "../base/slots.ts";
import type { Incarnation } from "../base/index.ts";
import { endsRun, finish } from "./results.ts";
import { readCloudInputs, submissionFor, webhookUrlOf } from "./submission.ts";
import type { Providers } from "./cloud-job.ts";

/** Attempts that one process follows at once. */
const maxFollowed = 8;
const lookMs = 500;
/** One look at an attempt, the fetch of its results included; shorter than the lease of a follower. */
const followLimitMs = 150_000;

/**
 * Follows the runs that providers have: asks about those that are due, and finishes, fails or cancels their jobs. Any
 * worker with the key does; a webhook only makes an attempt due at once.
 */
export function startFollowing(
  services: Services,
  providers: Providers,
  incarnation: Pick<Incarnation, "current">,
): Loop {
  const { keys } = providers;
  const keyIds = keys.map(({ keyId }) => keyId);
  const followed = createSlots<null>({ max: maxFollowed, onFree: () => loop.wake() });
  const loop = startLoop(services.log, "providers", async () => {
    const limit = followed.free();
    const nodeId = incarnation.current()?.id;
    if (limit === 0 || nodeId === undefined) return lookMs;
    const due = await takeDueAttempts(services, { nodeId, keyIds, limit });
    // One that a webhook makes due while its last look ends has another token.
    for (const attempt of due)
      followed.begin(`${attempt.id}/${attempt.finishToken}`, null, () =>
        follow(services, providers, attempt),
      );
    return lookMs;
  });
  return {
    wake: () => loop.wake(),
    async stop() {
      await loop.stop();
      await followed.close();
    },
  };
}

/** One look at an attempt. Never throws: what fails is tried again at the next look, until the deadline. */
async function follow(services: Services, { keys, clientOf }: Providers, attempt: DueAttempt): Promise<void> {
  const log = services.log.child({ jobId: attempt.jobId, provider: attempt.provider });
  const key = keys.find(({ keyId }) => keyId === attempt.keyId);
  if (!key) return;
  const followed = {
    attempt,
    key,
    client: clientOf(key.provider),
    signal: AbortSignal.timeout(followLimitMs),
  };
  try {
    await look({ ...services, log }, followed);
  } catch (error) {
    log.warn({ err: error }, "a run at a provider could not be followed");
    const isOver = attempt.isOverdue && (!isOwnOutage(error) || attempt.ageMs > ownOutageMs);
    const settled = isOver
      ? giveUp(services, followed)
      : postponeAttempt(services, attempt, pauseMs(services, attempt));
    await settled.catch((cause: unknown) => log.warn({ err: cause }, "the look was not noted"));
  }
}

/** A picture that the provider made waits this long for the studio's own store, or the gate, to come back. */
const ownOutageMs = 24 * 3_600_000;

const ownOutages = /^((storage|database|gate)_unavailable|storage_full)$/;
const isOwnOutage = (error: unknown) => isAppError(error) && ownOutages.test(error.code);

interface Followed {
  readonly attempt: DueAttempt;
  readonly key: ProviderKey;
  readonly client: ProviderClient;
  readonly signal: AbortSignal;
}

async function look(services: Services, followed: Followed): Promise<void> {
  const { attempt } = followed;
  const job = attempt.jobId === null ? null : await readJob(services, attempt.jobId);
  const isWanted = job?.status === "processing" && job.providerAttemptId === attempt.id;
  if (isWanted && job.cancelRequestedAt !== null) await cancelRun(services, followed);
  else if (attempt.state === "unknown") await reconcile(services, followed, isWanted ? job : null);
  else await ask(services, followed, isWanted ? job : null);
}

function handleOf({ endpoint, externalId, urls }: Attempt): RunHandle {
  return { endpoint, externalId: externalId ?? "", urls: urls ?? {} };
}

/** The job ends at once; its run is followed further, since it may cost something. */
async function cancelRun(services: Services, { attempt, key, client, signal }: Followed): Promise<void> {
  if (attempt.state === "accepted") {
    const answer = await client.cancel(key.access, handleOf(attempt), signal).catch((error: unknown) => {
      services.log.warn({ err: error }, "the provider could not be asked to stop a run");
      return "unsupported";
    });
    services.log.info({ answer }, "cancel at the provider");
  }
  await cancelFromProvider(services, attempt);
  await postponeAttempt(services, attempt, pauseMs(services, attempt));
}

async function ask(services: Services, followed: Followed, job: Job | null): Promise<void> {
  const { attempt, key, client, signal } = followed;
  const run = await client
    .get(key.access, handleOf(attempt), signal)
    .catch((error: unknown) => unanswered(error));
  if (run === null || isOpen(run)) {
    if (attempt.isOverdue) return giveUp(services, followed);
    if (run && job) {
      const stage = run.state === "queued" ? "provider_queue" : "provider";
      await noteProviderProgress(services, attempt, { progress: run.progress ?? 0, stage });
    }
    return postponeAttempt(services, attempt, pauseMs(services, attempt));
  }
  await end(services, followed, { run, job });
}

type Open = Extract<RunState, { progress: number | null }>;

function isOpen(run: RunState): run is Open {
  return run.state === "queued" || run.state === "running";
}

/**
 * What keeps the provider from answering now, such as an answer that cannot be read (`internal`). Any other refusal means
 * that it does not know the run any more. An answer that is too large for a run without a result would be so again.
 */
const passing: readonly string[] = ["transient", "timeout", "rate", "capacity", "auth", "credit", "internal"];

function unanswered(error: unknown): RunState | null {
  if (!(error instanceof ProviderError)) throw error;
  if (error.isCharged) return { state: "failed", error, costUsd: null };
  if (passing.includes(error.class)) return null;
  const lost = new ProviderError("lost", `The provider no longer knows the run: ${error.message}`);
  return { state: "failed", error: lost, costUsd: null };
}

type Ended = Exclude<RunState, Open>;

async function end(
  services: Services,
  followed: Followed,
  { run, job }: { readonly run: Ended; readonly job: Job | null },
): Promise<void> {
  const { attempt } = followed;
  const { costUsd } = run;
  if (run.state === "failed") {
    services.log.warn({ class: run.error.class, reason: run.error.message }, "run failed at the provider");
    await failFromProvider(services, { attempt, error: run.error, costUsd });
  } else if (job === null) {
    await endAttempt(services.db, attempt.id, { state: run.state, costUsd });
  } else if (run.state === "cancelled") {
    const error = new ProviderError("internal", "The run was cancelled at the provider.");
    await failFromProvider(services, { attempt, error, costUsd });
  } else {
    await takeResults(services, followed, { run, job });
  }
}

async function takeResults(
  services: Services,
  { attempt, key, signal }: Followed,
  { run, job }: { readonly run: Ended & { readonly state: "succeeded" }; readonly job: Job },
): Promise<void> {
  const { outputs, costUsd } = run;
  await noteProviderProgress(services, attempt, { progress: 0.99, stage: "fetching" });
  try {
    const outcome = await withTempFolder(services.env, async (workDir) => {
      const { files } =
        job.kind === "inpaint" ? await readCloudInputs(services, job, workDir) : { files: {} };
      const isLastTry = attempt.isOverdue;
      const run = { job, attempt, access: key.access, outputs, costUsd, files, workDir, signal, isLastTry };
      return finish(services, run);
    });
    if (outcome) noteCompleted(services);
    services.log.info({ outcome: outcome ? "completed" : "no longer wanted" }, "run at the provider ended");
  } catch (error) {
    if (!(error instanceof ProviderError) || (!endsRun(error) && !attempt.isOverdue)) throw error;
    // The provider made something, so it is paid for.
    await failFromProvider(services, {
      attempt,
      error,
      costUsd: costUsd ?? paidUsd(services.config, attempt),
    });
  }
}

/** Whatever keeps failing, a run ends with its deadline: its key and its price are not held for ever. */
async function giveUp(services: Services, { attempt, key, client, signal }: Followed): Promise<void> {
  await client.cancel(key.access, handleOf(attempt), signal).catch(() => "unsupported");
  const error = new ProviderError("timeout", "The run took too long.");
  await failFromProvider(services, { attempt, error, costUsd: null });
}

/** An accepted run appears in a provider's list at once; this long is waited for it to be sure. */
const listedAfterMs = 10_000;
const reconcilePauseMs = 4_000;

/** Finds out what became of a call without an answer, until the deadline. */
async function reconcile(services: Services, followed: Followed, job: Job | null): Promise<void> {
  const { attempt } = followed;
  const { runLimitS } = services.config.cloud;
  const found = await search(services, followed, job).catch((error: unknown) => {
    services.log.warn({ err: error }, "a lost call could not be looked for, trying again");
    return null;
  });
  if (found === "unsent") {
    await walkOn(services, attempt, new ProviderError("unsent", "The provider never got the request."));
  } else if (found) {
    await acceptAttempt(services.db, attempt.id, { handle: found, pollAfterS: 0, runLimitS });
  } else if (attempt.isOverdue) {
    const error = new ProviderError("lost", "The answer to the request was lost.");
    await failFromProvider(services, { attempt, error, costUsd: null });
  } else {
    await postponeAttempt(services, attempt, reconcilePauseMs);
  }
}

/**
 * The run of a lost call: as its webhook named it, by repeating the call where the provider knows its key, or from the
 * provider's list. `unsent`: the provider never got the call. Null: nothing is known, only a webhook can tell.
 */
async function search(
  services: Services,
  followed: Followed,
  job: Job | null,
): Promise<RunHandle | "unsent" | null> {
  const { attempt, key, client, signal } = followed;
  // The webhook came during the call.
  if (attempt.externalId !== null) return handleOf(attempt);
  const webhookUrl = webhookUrlOf(services.env, key.access, attempt);
  if (client.isIdempotent(key.access)) return job ? repeat(services, followed, { job, webhookUrl }) : null;
  if (!client.find || webhookUrl === null) return null;
  const found = await client.find(key.access, { webhookUrl, submittedAt: attempt.createdAt }, signal);
  if (found) return found;
  return attempt.ageMs > listedAfterMs && attempt.polls > 0 ? "unsent" : null;
}

/** The same submission again, under the same key; null when it was refused or lost once more. */
async function repeat(
  services: Services,
  { attempt, key, client, signal }: Followed,
  { job, webhookUrl }: { readonly job: Job; readonly webhookUrl: string | null },
): Promise<RunHandle | null> {
  const model = findModel(modelsOf(services.config), attempt.model);
  const offer = model?.offers.find(({ provider }) => provider === attempt.provider);
  if (!offer) return null;
  return withTempFolder(services.env, async (workDir) => {
    const inputs = await readCloudInputs(services, job, workDir);
    // The provider knows the key of this call, so that it costs nothing more.
    const beforePaid = () => Promise.resolve();
    const submission = submissionFor(attempt, offer, { job, inputs, webhookUrl, beforePaid });
    const submitted = await client.submit(key.access, submission, signal).catch((error: unknown) => {
      services.log.warn({ err: error }, "a repeated submission had no answer");
      return null;
    });
    return submitted?.handle ?? null;
  });
}

/** The pause before the next look, half as long again after each. */
function pauseMs({ config }: Pick<Services, "config">, { polls }: Attempt): number {
  const { pollS, maxPollS } = config.cloud;
  return Math.min(maxPollS, pollS * 1.5 ** Math.min(polls, 20)) * 1_000;
}
