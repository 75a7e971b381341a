import { setTimeout as sleep } from "node:timers/promises";
import { isAppError, type ErrorCode } from "@atelier/server/platform";
import { awaitEnd } from "./await-end.ts";
import type { ComfyServer, OutputFile } from "./comfy-server.ts";
import { findPrompt } from "./find-prompt.ts";
import { leavePrompt } from "./leave-prompt.ts";
import { hasSucceeded, outputsOf } from "./outputs-of.ts";
import { postPrompt } from "./post.ts";
import { PromptWatch, type WatchInput } from "./watch.ts";
import type { HistoryEntry } from "./read-history.ts";

export interface RunPromptInput extends WatchInput {
  /** Whether a run that is aborted for this reason stays on the server, for somebody else to adopt. Default: never. */
  readonly staysOnAbort?: (reason: unknown) => boolean;
}

/** A worker's place is free again this soon after an abort; the cancel goes on behind it. */
const cancelWaitMs = 800;
/** Shorter than what a worker that stops has left for handing back. */
const arriveMs = 3_000;

/**
 * Posts a prompt and follows it to its end; the files it made. The socket only hints, the history decides, so a silent or
 * broken socket costs at most 3 s. Aborting cancels the prompt, and only it, then rejects with the signal's reason.
 * Throws the codes of `postPrompt` and of a failed execution, `engine_interrupted` when somebody else stopped it, and
 * `server_lost` when the server is gone or was started again.
 */
export async function runPrompt(server: ComfyServer, input: RunPromptInput): Promise<OutputFile[]> {
  input.signal.throwIfAborted();
  const watch = new PromptWatch(server, input);
  try {
    await orAborted(watch.settled, input.signal);
    return await follow(server, { input, watch, posted: submit(server, input) });
  } finally {
    watch.close();
  }
}

/** Follows a prompt that was posted before. Null when it is not there or did not go well: then it may be posted anew. */
export async function adoptPrompt(server: ComfyServer, input: RunPromptInput): Promise<OutputFile[] | null> {
  const place = await findPrompt(server, input.promptId, { signal: input.signal });
  if (place.state === "unknown") return null;
  if (place.state === "ended") return hasSucceeded(place.entry) ? outputsOf(place.entry) : null;
  const watch = new PromptWatch(server, input);
  if (place.state === "running") watch.noteBegin();
  try {
    return await follow(server, { input, watch, posted: Promise.resolve() });
  } finally {
    watch.close();
  }
}

interface Following {
  readonly input: RunPromptInput;
  readonly watch: PromptWatch;
  readonly posted: Promise<void>;
}

async function follow(server: ComfyServer, following: Following): Promise<OutputFile[]> {
  return outputsOf(await followToEnd(server, following));
}

async function followToEnd(server: ComfyServer, { input, watch, posted }: Following): Promise<HistoryEntry> {
  const { promptId, signal } = input;
  try {
    await orAborted(posted, signal);
    return await awaitEnd(server, { promptId, watch, signal });
  } catch (error) {
    if (!signal.aborted) {
      // Whoever tries again does so under another id: this one must not go on for nobody.
      if (mayGoOn(error)) void leavePrompt(server, promptId, posted);
      throw error;
    }
    const stays = input.staysOnAbort?.(signal.reason) === true && (await hasArrived(posted));
    if (!stays) await leave(server, promptId, posted);
    throw signal.reason;
  }
}

/** Whether a prompt that was given up on may still wait or run on its server. */
function mayGoOn(error: unknown): boolean {
  return isAppError(error) && givenUp.has(error.code) && error.details?.["reason"] !== "forgotten";
}

const givenUp = new Set<ErrorCode>(["server_lost", "server_busy", "proxy_error", "engine_failed"]);

/** Not aborted with the run: a post whose answer nobody waited for may still be queued after the cancel. */
async function submit(server: ComfyServer, input: RunPromptInput): Promise<void> {
  const options = { signal: new AbortController().signal };
  try {
    await postPrompt(server, input, options);
  } catch (error) {
    if (!isAppError(error) || !unclear.has(error.code)) throw error;
    const place = await findPrompt(server, input.promptId, options).catch(() => null);
    if (place && place.state !== "unknown") return;
    if (!place || error.code !== "server_lost" || error.details?.reason === "timeout") throw error;
    // The server answers and does not have it: a kept connection was cut before the post arrived.
    await postPrompt(server, input, options);
  }
}

/** The server may have taken the post although its answer did not come. */
const unclear = new Set<ErrorCode>(["server_lost", "proxy_error"]);

/** Waits a moment for it: whoever looks for a prompt that is still on its way does not find it, and posts it anew. */
async function hasArrived(posted: Promise<void>): Promise<boolean> {
  const arrived = posted.then(
    () => true,
    () => false,
  );
  return Promise.race([arrived, sleep(arriveMs, false, { ref: false })]);
}

async function leave(server: ComfyServer, promptId: string, posted: Promise<void>): Promise<void> {
  const left = leavePrompt(server, promptId, posted);
  await Promise.race([left, sleep(cancelWaitMs, undefined, { ref: false })]);
}

async function orAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  const { promise, reject } = Promise.withResolvers<never>();
  const abort = () => reject(signal.reason);
  signal.addEventListener("abort", abort);
  try {
    signal.throwIfAborted();
    return await Promise.race([work, promise]);
  } finally {
    signal.removeEventListener("abort", abort);
  }
}
