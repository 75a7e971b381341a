import { setTimeout as sleep } from "node:timers/promises";
import { AppError, type ErrorCode, isAppError } from "@atelier/server/platform";
import { hasSucceeded, outputsOf } from "./failures.ts";
import { acceptsConnections, type ComfyServer, type OutputFile } from "./http.ts";
import { cancelGivenUp, postPrompt } from "./post.ts";
import { findPrompt, type HistoryEntry, type PromptStatus, readHistory } from "./routes.ts";
import { PromptWatch, type WatchInput } from "./watch.ts";

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
      if (mayGoOn(error)) void cancelGivenUp(server, promptId, posted);
      throw error;
    }
    const stays = input.staysOnAbort?.(signal.reason) === true && (await hasArrived(posted));
    if (!stays) await cancelBriefly(server, promptId, posted);
    throw signal.reason;
  }
}

const givenUp = new Set<ErrorCode>(["server_lost", "server_busy", "proxy_error", "engine_failed"]);

/** Whether a prompt that was given up on may still wait or run on its server. */
function mayGoOn(error: unknown): boolean {
  return isAppError(error) && givenUp.has(error.code) && error.details?.["reason"] !== "forgotten";
}

/** Waits a moment for it: whoever looks for a prompt that is still on its way does not find it, and posts it anew. */
async function hasArrived(posted: Promise<void>): Promise<boolean> {
  const arrived = posted.then(
    () => true,
    () => false,
  );
  return Promise.race([arrived, sleep(arriveMs, false, { ref: false })]);
}

async function cancelBriefly(server: ComfyServer, promptId: string, posted: Promise<void>): Promise<void> {
  const cancelled = cancelGivenUp(server, promptId, posted);
  await Promise.race([cancelled, sleep(cancelWaitMs, undefined, { ref: false })]);
}

/** The server may have taken the post although its answer did not come. */
const unclear = new Set<ErrorCode>(["server_lost", "proxy_error"]);

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

const askTimeoutMs = 3_000;
const firstPauseMs = 50;
const longestPauseMs = 500;
/** The queue, a long answer, is read on every third of the polls that nothing but silence asked for. */
const queueEvery = 3;

interface Wait {
  readonly promptId: string;
  readonly watch: PromptWatch;
  readonly signal: AbortSignal;
}

/** Waits until the history has the prompt. Throws `server_lost` when the server is gone or does not know it any more. */
async function awaitEnd(server: ComfyServer, wait: Wait): Promise<HistoryEntry> {
  const { watch, signal } = wait;
  const lossDetector = createLossDetector();
  let pauseMs = firstPauseMs;
  for (let round = 1; ; round++) {
    if (!lossDetector.isUnsure()) await watch.quiet();
    const isUrgent = watch.takeBreak() || watch.hasEnded || lossDetector.isUnsure();
    const askedMs = performance.now();
    const found = await lookFor(server, wait, isUrgent || round % queueEvery === 0);
    if (found.state === "ended") return found.entry;
    if (found.state === "running") watch.noteBegin();
    lossDetector.check(found, askedMs);
    if (!watch.hasEnded && !lossDetector.isUnsure()) continue;
    await sleep(pauseMs, undefined, { signal }).catch(() => signal.throwIfAborted());
    pauseMs = Math.min(pauseMs * 2, longestPauseMs);
  }
}

/** An error is given back: a server that starts again or a proxy before it may answer in a moment. */
async function lookFor(server: ComfyServer, { promptId, signal }: Wait, isWhole: boolean): Promise<LookUp> {
  const options = { signal, timeoutMs: askTimeoutMs };
  try {
    if (isWhole) return await findPrompt(server, promptId, options);
    const entry = await readHistory(server, promptId, options);
    // Where it is was not asked: at least it has not begun for all that is known.
    return entry ? { state: "ended", entry } : { state: "pending" };
  } catch (error) {
    signal.throwIfAborted();
    if (!isAppError(error)) throw error;
    const isStalled = error.details?.["reason"] === "timeout" && (await acceptsConnections(server));
    return { state: isStalled ? "stalled" : "away", error };
  }
}

/** What was found of a server when it was asked for a prompt. `stalled`: it takes connections and does not answer them. */
type LookUp = PromptStatus | { readonly state: "away" | "stalled"; readonly error: AppError };

/** Whether a prompt is still there, weighed from one answer of its server to the next. */
interface LossDetector {
  /** Throws when it is lost. `askedMs`: when the server was asked, on the monotonic clock. */
  check(found: LookUp, askedMs: number): void;
  /** True until the server says where the prompt is. */
  isUnsure(): boolean;
}

type LossSign = "away" | "stalled" | "unknown";

/** What lasts for longer than this is the end of a prompt. */
const lostAfterMs: Readonly<Record<LossSign, number>> = {
  /** A server that cannot be reached is lost; so is its queue, which it keeps in memory. */
  away: 5_000,
  /** While it loads a large model a server may say nothing for a good while. */
  stalled: 30_000,
  /** A prompt that is in neither queue nor history was lost with them. */
  unknown: 1_000,
};

function createLossDetector(): LossDetector {
  let sign: { readonly kind: LossSign; readonly sinceMs: number } | null = null;
  return {
    check(found, askedMs) {
      const kind = lossSignIn(found);
      if (kind === null) {
        sign = null;
        return;
      }
      // A server that answers again is given the time to read its own queue. One failure alone, however long it took, may
      // be that of this process, which stood still.
      if (sign?.kind !== kind) {
        sign = { kind, sinceMs: askedMs };
        return;
      }
      if (performance.now() - sign.sinceMs > lostAfterMs[kind])
        throw "error" in found ? found.error : forgotten();
    },
    isUnsure: () => sign !== null,
  };
}

function lossSignIn({ state }: LookUp): LossSign | null {
  return state === "away" || state === "stalled" || state === "unknown" ? state : null;
}

function forgotten(): AppError {
  return new AppError("server_lost", "The server was started again and does not know the picture any more.", {
    details: { reason: "forgotten" },
  });
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
