import { setTimeout as sleep } from "node:timers/promises";
import { isAppError } from "@atelier/server/platform";
import { acceptsConnections } from "./accepts-connections.ts";
import type { ComfyServer } from "./comfy-server.ts";
import { createDoubts, type Heard } from "./create-doubts.ts";
import { findPrompt } from "./find-prompt.ts";
import type { PromptWatch } from "./watch.ts";
import { readHistory, type HistoryEntry } from "./read-history.ts";

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
  const doubts = createDoubts();
  let pauseMs = firstPauseMs;
  for (let round = 1; ; round++) {
    if (!doubts.any()) await watch.quiet();
    const isUrgent = watch.takeBreak() || watch.hasEnded || doubts.any();
    const askedMs = performance.now();
    const heard = await lookFor(server, wait, isUrgent || round % queueEvery === 0);
    if (heard.state === "ended") return heard.entry;
    if (heard.state === "running") watch.noteBegin();
    doubts.weigh(heard, askedMs);
    if (!watch.hasEnded && !doubts.any()) continue;
    await sleep(pauseMs, undefined, { signal }).catch(() => signal.throwIfAborted());
    pauseMs = Math.min(pauseMs * 2, longestPauseMs);
  }
}

/** An error is given back: a server that starts again or a proxy before it may answer in a moment. */
async function lookFor(server: ComfyServer, { promptId, signal }: Wait, isWhole: boolean): Promise<Heard> {
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
