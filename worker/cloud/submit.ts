import { AppError, toAppError } from "@atelier/server/platform";
import {
  chainError,
  checkIntent,
  dispatch,
  fail,
  failFromProvider,
  handOver,
  type Job,
  type Lease,
  nextHop,
  type NextHop,
  noteLostReply,
  noteRefusal,
  providerError,
  waitForProvider,
  walkOn,
} from "@atelier/server/jobs";
import {
  findModel,
  modelsOf,
  paidUsd,
  type ProviderClient,
  ProviderError,
  type ProviderKey,
  type ProviderName,
  type Submitted,
} from "@atelier/server/providers";
import { setTimeout as sleep } from "node:timers/promises";
import { cloudQueue } from "@atelier/server/engines";
import type { Services } from "@atelier/server/services";
import { withTempFolder } from "@atelier/server/storage";
import { endBadly, persist } from "../run-job.ts";
import { finish, type Finished } from "./results.ts";
import { type CloudInputs, readCloudInputs, submissionFor, webhookUrlOf } from "./submission.ts";

/** How a worker reaches the providers. */
export interface Providers {
  readonly keys: readonly ProviderKey[];
  readonly clientOf: (name: ProviderName) => ProviderClient;
}

export interface CloudRunInput extends Providers {
  readonly job: Job;
  readonly lease: Lease;
  readonly signal: AbortSignal;
  /** Each provider that is left for the job is busy or cools down. */
  readonly onBusy: (model: string, waitMs: number) => void;
}

/**
 * Hands one claimed job to the first provider of its chain that takes it. Never throws.
 *
 *   nextHop ─▶ the intent is stored ─▶ submit ─▶ accepted: `handOver`, the attempt owns the job from here on
 *      ▲                                 │  └──▶ made at once (synchronous providers): `finish`
 *      └──────── refused, next one ──────┤
 *   all busy: back to the line           └─────▶ answer lost: the attempt owns the job until it is found (follow.ts)
 *   all failed: the job fails
 *
 * A submit is not stopped by a cancel or the stop of the worker, since its answer says whether it must be paid: it ends
 * within seconds. A synchronous provider is stopped, and its answer then counts as lost.
 */
export async function runCloudJob(services: Services, input: CloudRunInput): Promise<void> {
  const { job, lease } = input;
  const log = services.log.child({
    jobId: job.id,
    kind: job.kind,
    attempt: lease.attempt,
    nodeId: lease.nodeId,
  });
  try {
    const outcome = await withTempFolder(services.env, (workDir) =>
      walk({ ...services, log }, input, workDir),
    );
    log.info({ outcome, model: job.model }, "submit ended");
  } catch (error) {
    const outcome = await endBadly({ ...services, log }, lease, error);
    log.info({ outcome, model: job.model }, "submit ended");
  }
}

/** Longer than any client waits for an answer. */
const submitLimitMs = 180_000;

type Outcome = "accepted" | "completed" | "waits" | "failed" | "lost_reply" | "fenced";

async function walk(services: Services, input: CloudRunInput, workDir: string): Promise<Outcome> {
  const { job, lease, keys, signal } = input;
  const model = findModel(modelsOf(services.config), job.model ?? "");
  if (!model) throw new AppError("model_unknown", `The model "${job.model}" is gone.`);
  const inputs = await readCloudInputs(services, job, workDir);
  for (;;) {
    signal.throwIfAborted();
    const hop = await nextHop(services, { job, lease, model, keys });
    switch (hop.kind) {
      case "fenced":
        return "fenced";
      case "wait":
        input.onBusy(model.id, hop.waitMs);
        return (await waitForProvider(services, lease, hop)) ? waitsFor(services, hop.waitMs) : "fenced";
      case "exhausted":
        return (await fail(services, lease, chainError(hop.failed, hop.dearer))) ? "failed" : "fenced";
      case "call": {
        const outcome = await call(services, input, { hop, inputs, workDir });
        if (outcome !== "next") return outcome;
      }
    }
  }
}

const marginMs = 50;

/** Lets the job out of the line as soon as it may; without this process the sweep does. */
function waitsFor(services: Services, waitMs: number): "waits" {
  const timer = setTimeout(() => {
    dispatch(services, cloudQueue).catch((error: unknown) =>
      services.log.debug({ err: error }, "not dispatched, the sweep will"),
    );
  }, waitMs + marginMs);
  timer.unref();
  return "waits";
}

interface CallInput {
  readonly hop: NextHop & { readonly kind: "call" };
  readonly inputs: CloudInputs;
  readonly workDir: string;
}

/** Makes the call of a hop. When its end cannot be stored the attempt keeps the job, and the sweep takes it over. */
async function call(
  services: Services,
  input: CloudRunInput,
  callInput: CallInput,
): Promise<Outcome | "next"> {
  try {
    return await callOnce(services, input, callInput);
  } catch (error) {
    services.log.error({ err: error }, "the end of a call to a provider could not be stored");
    return "lost_reply";
  }
}

async function callOnce(
  services: Services,
  input: CloudRunInput,
  { hop, inputs, workDir }: CallInput,
): Promise<Outcome | "next"> {
  const { job, lease, signal, clientOf } = input;
  const { attempt, offer, key } = hop;
  const client = clientOf(offer.provider);
  const webhookUrl = webhookUrlOf(services.env, key.access, attempt);
  const beforePaid = () => checkIntent(services, { lease, attempt });
  const submission = submissionFor(attempt, offer, { job, inputs, webhookUrl, beforePaid });
  const limit = AbortSignal.timeout(submitLimitMs);
  const callSignal = client.isAsynchronous ? limit : AbortSignal.any([limit, signal]);
  let submitted: Submitted;
  try {
    submitted = await client.submit(key.access, submission, callSignal);
  } catch (error) {
    return refused(services, { lease, attempt }, toProviderError(error));
  }
  const { handle, run } = submitted;
  if (run.state === "failed") return refused(services, { lease, attempt }, run.error);
  if (run.state !== "succeeded" || client.isAsynchronous) {
    if (await persist(limit, () => handOver(services, { lease, attempt }, handle))) return "accepted";
    // The worker seemed dead for long: the job may be with another provider by now.
    const answer = await client.cancel(key.access, handle, limit).catch(() => "unsupported");
    services.log.error({ provider: attempt.provider, answer }, "a run that nobody waits for was cancelled");
    return "fenced";
  }
  const { outputs, costUsd } = run;
  const { files } = inputs;
  return takeResult(services, {
    job,
    attempt,
    access: key.access,
    outputs,
    costUsd,
    files,
    workDir,
    signal: limit,
  });
}

const storePauseMs = 2_000;
const storeTries = 15;

/**
 * Stores what a synchronous provider made. It was paid for and cannot be asked for again, so a store, or a result, that is
 * away for a while is waited for; when that does not help the run has failed late, at its price.
 */
async function takeResult(services: Services, finished: Omit<Finished, "isLastTry">): Promise<Outcome> {
  const { attempt, costUsd } = finished;
  for (let left = storeTries; ; left -= 1) {
    try {
      return (await finish(services, { ...finished, isLastTry: left === 0 })) ? "completed" : "fenced";
    } catch (error) {
      const isFinal = error instanceof ProviderError && error.class !== "transient";
      if (isFinal || left === 0) {
        services.log.warn({ err: error }, "the result of a provider could not be taken");
        const failure =
          error instanceof ProviderError
            ? error
            : new ProviderError("lost", "The result could not be stored.");
        const paid = costUsd ?? paidUsd(services.config, attempt);
        return (await failFromProvider(services, { attempt, error: failure, costUsd: paid }))
          ? "failed"
          : "fenced";
      }
    }
    await sleep(storePauseMs);
  }
}

type Refused = Parameters<typeof noteRefusal>[1];

async function refused(
  services: Services,
  refusedCall: Refused,
  error: ProviderError,
): Promise<Outcome | "next"> {
  const { lease, attempt } = refusedCall;
  services.log.warn(
    { provider: attempt.provider, class: error.class, reason: error.message },
    "provider failed",
  );
  if (error.class === "lost") {
    await noteLostReply(services, refusedCall, error);
    return "lost_reply";
  }
  if (!(await noteRefusal(services, refusedCall, error))) {
    await walkOn(services, attempt, error);
    return "fenced";
  }
  if (error.class !== "moderation") return "next";
  const refusal = providerError({ provider: attempt.provider, reason: error.class, words: error.words });
  return (await fail(services, lease, refusal)) ? "failed" : "fenced";
}

/** A fault of a client after its request may have gone out: nothing is known of the call. */
function toProviderError(error: unknown): ProviderError {
  if (error instanceof ProviderError) return error;
  return new ProviderError("lost", toAppError(error).message, { cause: error });
}
