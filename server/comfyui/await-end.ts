import { setTimeout as sleep } from "node:timers/promises";
import { AppError, isAppError } from "../platform/index.ts";
import type { ComfyServer } from "./comfy-server.ts";
import { findPrompt, type PromptPlace } from "./find-prompt.ts";
import type { PromptWatch } from "./prompt-watch.ts";
import { readHistory, type HistoryEntry } from "./read-history.ts";

/** A server that does not answer for this long is lost; so is its queue, which it keeps in memory. */
const lostMs = 5_000;
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
export async function awaitEnd(server: ComfyServer, wait: Wait): Promise<HistoryEntry> {
  const { watch, signal } = wait;
  let failingSinceMs: number | null = null;
  let pauseMs = firstPauseMs;
  for (let round = 1; ; round++) {
    await watch.quiet();
    const askedMs = performance.now();
    const isWhole =
      watch.takeBreak() || watch.hasEnded || round % queueEvery === 0 || failingSinceMs !== null;
    const place = await lookFor(server, wait, isWhole).catch((error: unknown) => {
      failingSinceMs ??= askedMs;
      if (!isPassing(error) || performance.now() - failingSinceMs > lostMs) throw error;
      return null;
    });
    if (place?.state === "ended") return place.entry;
    if (place?.state === "unknown") throw forgotten();
    if (place) failingSinceMs = null;
    if (place && !watch.hasEnded) continue;
    await sleep(pauseMs, undefined, { signal }).catch(() => signal.throwIfAborted());
    pauseMs = Math.min(pauseMs * 2, longestPauseMs);
  }
}

async function lookFor(
  server: ComfyServer,
  { promptId, signal }: Wait,
  isWhole: boolean,
): Promise<PromptPlace> {
  const options = { signal, timeoutMs: askTimeoutMs };
  if (isWhole) return findPrompt(server, promptId, options);
  const entry = await readHistory(server, promptId, options);
  return entry ? { state: "ended", entry } : { state: "running" };
}

/** A server that starts again or a proxy before it may answer in a moment. */
function isPassing(error: unknown): boolean {
  return isAppError(error) && error.code !== "bad_request";
}

function forgotten(): AppError {
  return new AppError("server_lost", "The server was started again and does not know the picture any more.", {
    details: { reason: "forgotten" },
  });
}
