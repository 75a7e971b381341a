import { endCall, type Job } from "@atelier/server/jobs";
import {
  acceptAttempt,
  type Attempt,
  type DueAttempt,
  findModel,
  modelsOf,
  postponeAttempt,
  type ProviderClient,
  ProviderError,
  type ProviderKey,
  type RunHandle,
} from "@atelier/server/providers";
import type { Services } from "@atelier/server/services";
import { withTempFolder } from "@atelier/server/storage";
import { readCloudInputs, submissionFor, webhookUrlOf } from "./submission.ts";

/** One look at an attempt. */
export interface Followed {
  readonly attempt: DueAttempt;
  readonly key: ProviderKey;
  readonly client: ProviderClient;
  /** Ends the calls of the look: with its time, and with `stopped`. */
  readonly signal: AbortSignal;
  /** The process stops: the attempt is given back as it is, so no call that this has ended may decide anything. */
  readonly stopped: AbortSignal;
}

export function handleOf({ endpoint, externalId, urls }: Attempt): RunHandle {
  return { endpoint, externalId: externalId ?? "", urls: urls ?? {} };
}

/** An accepted run appears in a provider's list at once; this long is waited for it to be sure. */
const listedAfterMs = 10_000;
const reconcilePauseMs = 4_000;

/** Finds out what became of a call without an answer, until the deadline. */
export async function reconcile(services: Services, followed: Followed, job: Job | null): Promise<void> {
  const { attempt, stopped } = followed;
  const { runLimitS } = services.config.cloud;
  const found = await search(services, followed, job).catch((error: unknown) => {
    services.log.warn({ err: error }, "a lost call could not be looked for, trying again");
    return null;
  });
  if (found === null) stopped.throwIfAborted();
  if (found === "unsent") {
    const error = new ProviderError("unsent", "The provider never got the request.");
    await endCall(services, { attempt, signal: stopped }, { as: "refused", error, costUsd: null });
  } else if (found) {
    await acceptAttempt(services.db, attempt.id, { handle: found, pollAfterS: 0, runLimitS });
  } else if (attempt.isOverdue) {
    const error = new ProviderError("lost", "The answer to the request was lost.");
    await endCall(services, { attempt, signal: stopped }, { as: "failed", error, costUsd: null });
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

/**
 * The same submission again, under the same key; null when it was refused or lost once more. A refusal proves nothing of the
 * first call: that one may be what fills the provider's queue or took the last credit, it may still be under way, and a known
 * key is refused as bad input when a picture is encoded otherwise by now.
 */
async function repeat(
  services: Services,
  { attempt, key, client, signal }: Followed,
  { job, webhookUrl }: { readonly job: Job; readonly webhookUrl: string | null },
): Promise<RunHandle | null> {
  const model = findModel(modelsOf(services.config), attempt.model);
  const offer = model?.offers.find(({ provider }) => provider === attempt.provider);
  if (!offer) return null;
  return withTempFolder(services.env, async (workDir) => {
    const inputs = await readCloudInputs(services, job, { workDir, signal });
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
