import { setTimeout as sleep } from "node:timers/promises";
import { z } from "zod";
import { AppError, isAppError } from "@atelier/server/platform";
import {
  type Answer,
  ask,
  type CallOptions,
  type ComfyServer,
  jsonOf,
  parseJson,
  type PromptGraph,
  requireDone,
} from "./http.ts";
import { readQueue } from "./routes.ts";
import { validationFailure, validationSchema } from "./validation.ts";

export interface Prompt {
  readonly graph: PromptGraph;
  /** A UUID in lower case. */
  readonly promptId: string;
  /** The client whose socket gets the events. */
  readonly clientId: string;
  /** Texts of the user, which errors must not contain. Default: none. */
  readonly userTexts?: readonly string[];
}

const accepted = validationSchema.extend({ prompt_id: z.string() });
const refused = validationSchema.extend({ prompt_id: z.unknown().optional() });

const timeoutMs = 30_000;
const takeBackMs = 5_000;
const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

/**
 * Posts a prompt. Throws `node_missing`, `model_missing`, `input_missing` or `graph_invalid` when the server refuses it, and
 * `engine_failed` when it does so with nothing but a sentence. A prompt that was accepted without some of its outputs, or
 * under another id, is cancelled and counts as refused.
 */
export async function postPrompt(server: ComfyServer, prompt: Prompt, options: CallOptions): Promise<void> {
  const { graph, promptId, clientId, userTexts } = prompt;
  if (!uuid.test(promptId)) throw new AppError("internal", "A prompt id must be a UUID in lower case.");
  if (Object.values(graph).some(hasUnsafeNumber)) throw new AppError("graph_invalid");
  // Previews are off on most servers; servers without this override ignore it.
  const extra = { preview_method: "auto" };
  const json = { prompt: graph, prompt_id: promptId, client_id: clientId, extra_data: extra };
  const answer = await ask(server, { path: "prompt", json }, { timeoutMs, ...options });
  const failure = refusalOf(answer, userTexts);
  if (failure) throw failure;
  const body = jsonOf(answer, accepted);
  const isKnown = body.prompt_id === promptId;
  if (isKnown && Object.keys(body.node_errors).length === 0) return;
  await takeBack(server, body.prompt_id, options);
  throw isKnown ? validationFailure(body) : tooOld();
}

/** Some servers refuse with a good status: then the answer has an error and no id. */
function refusalOf({ status, text }: Answer, userTexts?: readonly string[]): AppError | null {
  if (status !== 400 && status !== 200) return null;
  const { success, data } = refused.safeParse(parseJson(text));
  if (!success || !data.error || (status === 200 && data.prompt_id)) return null;
  return validationFailure(data, userTexts);
}

const ownIds = "own_ids";

/** Refused, because a prompt under another id can neither be found again nor followed. */
function tooOld(): AppError {
  const details = { reason: ownIds };
  return new AppError("node_missing", "The server is too old: it ignores prompt ids.", { details });
}

/** Whether a server gives prompts ids of its own, so that each run there is begun, and perhaps paid, for nothing. */
export const isOfOwnIds = ({ details }: AppError): boolean => details?.["reason"] === ownIds;

/** Cancels the prompt, which may run already; waits 5 s at most. */
async function takeBack(server: ComfyServer, promptId: string, { signal }: CallOptions): Promise<void> {
  const bounded = AbortSignal.any([signal, AbortSignal.timeout(takeBackMs)]);
  await cancelPrompt(server, promptId, { signal: bounded }).catch(() => signal.throwIfAborted());
}

/** JavaScript silently rounds larger integers of a server or a workflow. */
function hasUnsafeNumber({ inputs }: PromptGraph[string]): boolean {
  return Object.values(inputs).some(
    (value) => typeof value === "number" && Math.abs(value) > Number.MAX_SAFE_INTEGER,
  );
}

const cancelPauseMs = 200;
/** A server loses an interrupt that comes just before the prompt begins, so the interrupt is repeated. */
const repeatMs = 2_000;

/**
 * Cancels one pending or running prompt and resolves when the server has stopped it. Other prompts are not affected.
 * Servers notice an interrupt only between nodes and sampler steps, so the caller's signal must bound the wait.
 */
export async function cancelPrompt(
  server: ComfyServer,
  promptId: string,
  options: CallOptions,
): Promise<void> {
  let repeatAtMs = Number.NEGATIVE_INFINITY;
  let ways = [cancelJob, stop];
  do {
    if (performance.now() >= repeatAtMs) {
      if (!(await stopBy(ways, server, { promptId, options }))) return;
      // What was answered and had no effect is not asked again.
      ways = [stop];
      repeatAtMs = performance.now() + repeatMs;
    } else {
      await sleep(cancelPauseMs, undefined, { signal: options.signal });
    }
  } while (await isOpen(server, promptId, options));
}

/** Deletes a pending prompt from the queue; does nothing for a running or unknown one. */
async function deleteQueued(server: ComfyServer, promptId: string, options: CallOptions): Promise<void> {
  requireDone(await ask(server, { path: "queue", json: { delete: [promptId] } }, options));
}

type Way = typeof stop;

/** The first way that the server knows. False when there is nothing to stop. */
async function stopBy(
  ways: readonly Way[],
  server: ComfyServer,
  { promptId, options }: { promptId: string; options: CallOptions },
): Promise<boolean> {
  for (const way of ways) if (await way(server, promptId, options)) return true;
  return false;
}

async function stop(server: ComfyServer, promptId: string, options: CallOptions): Promise<boolean> {
  await deleteQueued(server, promptId, options);
  // Servers of early 2025 and older interrupt any running prompt, so this one must be running.
  const { running } = await readQueue(server, options);
  if (!running.includes(promptId)) return false;
  await interrupt(server, promptId, options);
  return true;
}

const cancelled = z.object({ cancelled: z.boolean() });

/** False on servers without the route, and where the answer is in another form: the older routes are asked then. */
async function cancelJob(server: ComfyServer, promptId: string, options: CallOptions): Promise<boolean> {
  const answer = await ask(server, { path: `api/jobs/${promptId}/cancel`, json: {} }, options);
  if (answer.status === 404 || answer.status === 405) return false;
  requireDone(answer);
  return cancelled.safeParse(parseJson(answer.text)).success;
}

async function interrupt(server: ComfyServer, promptId: string, options: CallOptions): Promise<void> {
  requireDone(await ask(server, { path: "interrupt", json: { prompt_id: promptId } }, options));
}

async function isOpen(server: ComfyServer, promptId: string, options: CallOptions): Promise<boolean> {
  const { running, pending } = await readQueue(server, options);
  return running.includes(promptId) || pending.includes(promptId);
}

/** How long to retry when the server cannot be reached: the prompt may still run there. */
const cancelMostMs = 30_000;
const cancelRetryMs = 500;

/** Cancels a prompt that was given up, once its post is answered; retries for 30 s. Never rejects. */
export async function cancelGivenUp(
  server: ComfyServer,
  promptId: string,
  posted: Promise<unknown>,
): Promise<void> {
  await posted.catch(() => undefined);
  const signal = AbortSignal.timeout(cancelMostMs);
  while (!signal.aborted) {
    try {
      await cancelPrompt(server, promptId, { signal });
      return;
    } catch (error) {
      if (!isAppError(error)) return;
      await sleep(cancelRetryMs, undefined, { signal, ref: false }).catch(() => undefined);
    }
  }
}
