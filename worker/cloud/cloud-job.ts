import { noteCompleted } from "@atelier/server/batches";
import { AppError, toAppError } from "@atelier/server/platform";
import {
  type Call,
  type CallEnded,
  chainError,
  changeModel,
  checkIntent,
  dispatch,
  fail,
  goHome,
  type Job,
  type Lease,
  nextHop,
  type NextHop,
  otherModels,
  waitForProvider,
} from "@atelier/server/jobs";
import {
  type CloudModel,
  findModel,
  holdAttempt,
  modelsOf,
  type ProviderClient,
  ProviderError,
  type ProviderKey,
  type ProviderName,
  type Submitted,
} from "@atelier/server/providers";
import { cloudQueue } from "@atelier/server/engines";
import { admitInputs } from "@atelier/server/gate";
import type { Services } from "@atelier/server/services";
import { withTempFolder } from "@atelier/server/storage";
import { endBadly } from "../base/end-badly.ts";
import { inModelSpan, inRunSpan, logOfRun } from "../base/spans.ts";
import { endPatiently, finishCall } from "./results.ts";
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
 *   nextHop ─▶ the intent is stored ─▶ submit ─▶ accepted: the attempt owns the job from here on
 *      ▲                                 │  └──▶ made at once (synchronous providers): `finishCall`
 *      └──────── refused, next one ──────┤
 *   all busy: home, or back to the line  └─────▶ answer lost: the attempt owns the job until it is found (follow.ts)
 *   all failed: the job fails
 *
 * A submit is not stopped by a cancel or the stop of the worker, since its answer says whether it must be paid: it ends
 * within seconds. A synchronous provider is stopped, and its answer then counts as lost.
 */
export async function runCloudJob(services: Services, input: CloudRunInput): Promise<void> {
  const { job, lease } = input;
  const log = logOfRun(services, job, lease);
  const outcome = await inRunSpan(services, job, () =>
    withTempFolder(services.env, (workDir) => walk({ ...services, log }, input, workDir)),
  ).catch((error: unknown) => endBadly({ ...services, log }, lease, error));
  if (outcome === "completed") noteCompleted(services);
  log.info({ outcome, model: job.model }, "submit ended");
}

/** A call to a provider; longer than any client waits for an answer. */
export const submitLimitMs = 180_000;
/** The cancel of a run that nobody waits for. */
const cancelLimitMs = 60_000;

type Outcome = Exclude<CallEnded, "next"> | "waits" | "home";

/** Tries the model of the job, then, where the request named none, the others of its kind. */
async function walk(services: Services, input: CloudRunInput, workDir: string): Promise<Outcome> {
  const { lease, keys } = input;
  let job = input.job;
  let model: CloudModel | null | undefined = findModel(modelsOf(services.config), job.model ?? "");
  if (!model) throw new AppError("model_unknown", `The model "${job.model}" is gone.`);
  const others = await modelsWithKey(services, job, keys);
  const inputs = await readCloudInputs(services, job, { workDir, signal: input.signal });
  await admitInputs(services, job, inputs.files, input.signal);
  const stops: Stop[] = [];
  for (;;) {
    const outcome = await walkChain(services, { ...input, job }, { model, inputs, workDir });
    if (typeof outcome === "string") return outcome;
    stops.push({ model, hop: outcome });
    if (outcome.kind === "wait") input.onBusy(model.id, outcome.waitMs);
    model = others.shift();
    if (!model) return stopAt(services, { ...input, job }, stops);
    const changed = await changeModel(services, { job, lease }, model);
    if (!changed) return "fenced";
    job = changed;
  }
}

/** The other models of the kind that a key of this process can run. */
async function modelsWithKey(
  services: Services,
  job: Job,
  keys: readonly ProviderKey[],
): Promise<CloudModel[]> {
  const held = new Set<string>(keys.map(({ provider }) => provider));
  const others = await otherModels(services, job);
  return others.filter(({ offers }) => offers.some(({ provider }) => held.has(provider)));
}

type Ended = Extract<NextHop, { kind: "wait" | "exhausted" }>;

/** A model whose chain has no provider that takes the job now. */
interface Stop {
  readonly model: CloudModel;
  readonly hop: Ended;
}

interface Chain {
  readonly model: CloudModel;
  readonly inputs: CloudInputs;
  readonly workDir: string;
}

/** Hands the job to the first provider of one model that takes it; a hop when none does. */
async function walkChain(
  services: Services,
  input: CloudRunInput,
  { model, inputs, workDir }: Chain,
): Promise<Outcome | Ended> {
  const { job, lease, keys, signal } = input;
  for (;;) {
    signal.throwIfAborted();
    const hop = await nextHop(services, { job, lease, model, keys });
    if (hop.kind === "fenced") return "fenced";
    if (hop.kind !== "call") return hop;
    const outcome = await call(services, input, { hop, inputs, workDir });
    if (outcome !== "next") return outcome;
  }
}

/** No provider takes the job now: own machines do, or it waits for the one that is free first, or it fails. */
async function stopAt(services: Services, input: CloudRunInput, stops: readonly Stop[]): Promise<Outcome> {
  const { job, lease } = input;
  const waits = stops.flatMap(({ model, hop }) => (hop.kind === "wait" ? [{ model, hop }] : []));
  const [first] = waits.toSorted((a, b) => a.hop.waitMs - b.hop.waitMs);
  if (!first) {
    const ends = stops.flatMap(({ hop }) => (hop.kind === "exhausted" ? [hop] : []));
    const failed = new Map(ends.flatMap((hop) => hop.failed).map((attempt) => [attempt.id, attempt]));
    const dearer = [...new Set(ends.flatMap((hop) => hop.dearer))];
    return (await fail(services, lease, chainError([...failed.values()], dearer))) ? "failed" : "fenced";
  }
  if (await goHome(services, { job, lease }, "busy")) return "home";
  const isOther = first.model.id !== job.model;
  if (isOther && !(await changeModel(services, { job, lease }, first.model))) return "fenced";
  return (await waitForProvider(services, lease, first.hop))
    ? waitsFor(services, first.hop.waitMs)
    : "fenced";
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

/** Makes the call of a hop. When its end cannot be stored for long the attempt keeps the job, and the sweep takes it over. */
async function call(
  services: Services,
  input: CloudRunInput,
  callInput: CallInput,
): Promise<Outcome | "next"> {
  try {
    return await holdAttempt(services, callInput.hop.attempt, () => callOnce(services, input, callInput));
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
  const called = { lease, attempt };
  const beforePaid = () => checkIntent(services, called);
  const submission = submissionFor(attempt, offer, { job, inputs, webhookUrl, beforePaid });
  const limit = AbortSignal.timeout(submitLimitMs);
  const callSignal = client.isAsynchronous ? limit : AbortSignal.any([limit, signal]);
  let submitted: Submitted;
  try {
    const model = { job, provider: attempt.provider, model: job.model ?? job.need };
    submitted = await inModelSpan(services, model, () => client.submit(key.access, submission, callSignal));
  } catch (error) {
    return failed(services, called, { error: toProviderError(error), costUsd: null }, signal);
  }
  const { handle, run } = submitted;
  if (run.state === "failed") return failed(services, called, run, signal);
  if (run.state !== "succeeded" || client.isAsynchronous) {
    const outcome = await endPatiently(services, called, { as: "accepted", handle }, signal);
    if (outcome !== "fenced") return outcome;
    // The worker seemed dead for long: the job may be with another provider by now.
    const cancelSignal = AbortSignal.timeout(cancelLimitMs);
    const answer = await client.cancel(key.access, handle, cancelSignal).catch(() => "unsupported");
    services.log.error({ provider: attempt.provider, answer }, "a run that nobody waits for was cancelled");
    return "fenced";
  }
  const { outputs, costUsd } = run;
  const { files } = inputs;
  return finishCall(services, {
    job,
    attempt,
    access: key.access,
    outputs,
    costUsd,
    files,
    workDir,
    signal,
  });
}

/** The provider refused the call, or its answer was lost. */
function failed(
  services: Services,
  called: Call,
  { error, costUsd }: { readonly error: ProviderError; readonly costUsd: number | null },
  stopped: AbortSignal,
): Promise<CallEnded> {
  const { provider } = called.attempt;
  services.log.warn({ provider, class: error.class, reason: error.message }, "provider failed");
  const end =
    error.class === "lost" ? ({ as: "lost", error } as const) : ({ as: "refused", error, costUsd } as const);
  return endPatiently(services, called, end, stopped);
}

/** A fault of a client after its request may have gone out: nothing is known of the call. */
function toProviderError(error: unknown): ProviderError {
  if (error instanceof ProviderError) return error;
  return new ProviderError("lost", toAppError(error).message, { cause: error });
}
