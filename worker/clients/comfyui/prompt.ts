import net from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { AppError, type ErrorCode, isAppError, orAborted, orLate } from "@atelier/server/platform";
import { hasSucceeded, outputsOf } from "./failures.ts";
import { type ComfyServer, httpEndpoint, type OutputFile } from "./http.ts";
import { cancelGivenUp, postPrompt } from "./post.ts";
import { findPrompt, type HistoryEntry, type PromptStatus, readHistory } from "./routes.ts";
import { PromptWatch, type WatchInput } from "./watch.ts";

export interface RunPromptInput extends WatchInput {
  /** Runs while the socket opens; the prompt is posted only after it resolved. Default: nothing. */
  readonly beforePost?: () => Promise<void>;
  /** Whether the prompt of a run aborted for this reason stays on the server, to be adopted. Default: never. */
  readonly staysOnAbort?: (reason: unknown) => boolean;
  /** Texts of the user, which errors must not contain. Default: none. */
  readonly userTexts?: readonly string[];
}

/** How long an abort waits for the cancel; the cancel then continues in the background. */
const cancelWaitMs = 800;
/** Shorter than the time that a stopping worker has for handing back. */
const arriveMs = 3_000;

/**
 * Posts a prompt, follows it to its end and returns its files. The socket only hints and the history decides, so a broken
 * socket costs at most 3 s. Aborting cancels this prompt only and rejects with the signal's reason. Throws the codes of
 * `postPrompt` and of a failed execution, `engine_interrupted` when another client stopped it, and `server_lost`.
 */
export async function runPrompt(server: ComfyServer, input: RunPromptInput): Promise<OutputFile[]> {
  input.signal.throwIfAborted();
  const watch = new PromptWatch(server, input);
  try {
    await orAborted(Promise.all([watch.settled, input.beforePost?.()]), input.signal);
    input.signal.throwIfAborted();
    return await follow(server, { input, watch, posted: submit(server, input) });
  } finally {
    watch.close();
  }
}

/** Follows a prompt that was posted before. Null when the server does not have it or it failed: then post a new one. */
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
  return outputsOf(await followToEnd(server, following), following.input.userTexts);
}

async function followToEnd(server: ComfyServer, { input, watch, posted }: Following): Promise<HistoryEntry> {
  const { promptId, signal } = input;
  try {
    await orAborted(posted, signal);
    return await awaitEnd(server, { promptId, watch, signal });
  } catch (error) {
    if (!signal.aborted) {
      // A retry uses a new prompt id, so cancel this one; otherwise it runs unused.
      if (mayGoOn(error)) void cancelGivenUp(server, promptId, posted);
      throw error;
    }
    const stays = input.staysOnAbort?.(signal.reason) === true && (await hasArrived(posted));
    if (!stays) await cancelBriefly(server, promptId, posted);
    throw signal.reason;
  }
}

const givenUp = new Set<ErrorCode>(["server_lost", "server_busy", "proxy_error", "engine_failed"]);

/** Whether a prompt that is given up may still wait or run on its server. */
function mayGoOn(error: unknown): boolean {
  return isAppError(error) && givenUp.has(error.code) && error.details?.["reason"] !== "forgotten";
}

/** Waits a moment for the post: an attempt that looks for the prompt before it arrived would post a second one. */
async function hasArrived(posted: Promise<void>): Promise<boolean> {
  const arrived = posted.then(
    () => true,
    () => false,
  );
  return orLate(arrived, arriveMs, () => false);
}

async function cancelBriefly(server: ComfyServer, promptId: string, posted: Promise<void>): Promise<void> {
  await orLate(cancelGivenUp(server, promptId, posted), cancelWaitMs, () => undefined);
}

/** After these errors the server may have accepted the post all the same. */
const unclear = new Set<ErrorCode>(["server_lost", "proxy_error"]);

/** Posts the prompt. Not aborted with the run: a post whose answer is not awaited could be queued after the cancel. */
async function submit(server: ComfyServer, input: RunPromptInput): Promise<void> {
  const options = { signal: new AbortController().signal };
  try {
    await postPrompt(server, input, options);
  } catch (error) {
    if (!isAppError(error) || !unclear.has(error.code)) throw error;
    const place = await findPrompt(server, input.promptId, options).catch(() => null);
    if (place && place.state !== "unknown") return;
    if (!place || error.code !== "server_lost" || error.details?.reason === "timeout") throw error;
    // The server answers and does not have the prompt: a kept connection was cut before the post arrived.
    await postPrompt(server, input, options);
  }
}

const askTimeoutMs = 3_000;
const firstPauseMs = 50;
const maxPauseMs = 500;
const limitedPauseMs = 5_000;
/** After mere silence the queue, a long answer, is read only at every third poll. */
const queueEvery = 3;

interface Wait {
  readonly promptId: string;
  readonly watch: PromptWatch;
  readonly signal: AbortSignal;
}

/** Waits until the history has the prompt. Throws `server_lost` when the loss detector gives it up. */
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
    const waitMs = found.state === "limited" ? limitedPauseMs : pauseMs;
    await sleep(waitMs, undefined, { signal }).catch(() => signal.throwIfAborted());
    pauseMs = Math.min(pauseMs * 2, maxPauseMs);
  }
}

/** Asks once where the prompt is. Errors are returned: a restarting server or its proxy may answer in a moment. */
async function lookFor(server: ComfyServer, { promptId, signal }: Wait, isWhole: boolean): Promise<LookUp> {
  const options = { signal, timeoutMs: askTimeoutMs };
  try {
    if (isWhole) return await findPrompt(server, promptId, options);
    const entry = await readHistory(server, promptId, options);
    // The queue was not read, so the prompt counts as not begun.
    return entry ? { state: "ended", entry } : { state: "pending" };
  } catch (error) {
    signal.throwIfAborted();
    if (!isAppError(error)) throw error;
    if (error.details?.["status"] === 429) return { state: "limited", error };
    const isStalled = error.details?.["reason"] === "timeout" && (await acceptsConnections(server));
    return { state: isStalled ? "stalled" : "away", error };
  }
}

const connectMs = 1_500;

/** Whether the server accepts connections; a server that is too busy to answer still does. */
function acceptsConnections(server: ComfyServer): Promise<boolean> {
  const { hostname, port, protocol } = new URL(httpEndpoint(server, { path: "" }).url);
  const target = {
    // Without the brackets of an IPv6 address.
    host: hostname.replace(/^\[|\]$/g, ""),
    port: Number(port) || (protocol === "https:" ? 443 : 80),
  };
  return new Promise((resolve) => {
    const socket = net.connect(target);
    const end = (isAccepted: boolean) => {
      socket.destroy();
      resolve(isAccepted);
    };
    socket.setTimeout(connectMs, () => end(false));
    socket.once("connect", () => end(true));
    socket.once("error", () => end(false));
  });
}

/**
 * The answer to one look-up of a prompt. `stalled`: the server accepts connections and does not answer. `limited`: a proxy
 * lets no more requests through for now, and the prompt goes on behind it.
 */
type LookUp = PromptStatus | { readonly state: "away" | "stalled" | "limited"; readonly error: AppError };

/** Decides from consecutive look-ups whether a prompt is lost. */
interface LossDetector {
  /** Throws when the prompt is lost. `askedMs`: time of the request on the monotonic clock. */
  check(found: LookUp, askedMs: number): void;
  /** True while the last look-up did not find the prompt. */
  isUnsure(): boolean;
}

type LossSign = "away" | "stalled" | "limited" | "unknown";

/** A prompt is lost when the same sign lasts longer than this. */
const lostAfterMs: Readonly<Record<LossSign, number>> = {
  /** The server cannot be reached; if it is down its queue, which it keeps in memory, is gone. */
  away: 5_000,
  /** A server that loads a large model may not answer for a long time. */
  stalled: 30_000,
  /** Proxies count requests by the minute. */
  limited: 120_000,
  /** The prompt is in neither queue nor history: the server was restarted. */
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
      // A changed sign starts the time again. A single failure, however long it took, never counts as a loss: this process
      // itself may have been suspended.
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
  return state === "running" || state === "pending" || state === "ended" ? null : state;
}

function forgotten(): AppError {
  return new AppError("server_lost", "The server was restarted and lost the picture.", {
    details: { reason: "forgotten" },
  });
}
