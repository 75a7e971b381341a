import { isAppError, type Logger, toAppError } from "@atelier/server/platform";
import { type Loop, startLoop } from "../base/loop.ts";
import { conditionOf, noteAnswer, noteRestart, noteSilence, type ServerEntry } from "./entry.ts";
import type { ServerProbe } from "./probes.ts";

export interface WatchInput {
  readonly entry: ServerEntry;
  readonly probe: ServerProbe;
  readonly log: Logger;
  readonly probeMs: number;
  readonly onChange: () => void;
}

export interface ServerWatch {
  /** Probes the server now. */
  wake(): void;
  /** Resolves after the first probe, good or not. */
  readonly first: Promise<void>;
  stop(): Promise<void>;
}

/** Probes one server for as long as it is known. */
export function watchServer(input: WatchInput): ServerWatch {
  const stopping = new AbortController();
  const first = Promise.withResolvers<void>();
  const { health } = input.entry;
  const untilRetryMs = () => (health.link === "down" ? health.retryAtMs - performance.now() : 0);
  const loop: Loop = startLoop(input.log, `probe ${input.entry.label}`, async () => {
    if (untilRetryMs() > 0) return untilRetryMs();
    await probeOnce(input, stopping.signal);
    first.resolve();
    return health.link === "down" ? Math.max(0, untilRetryMs()) : input.probeMs;
  });
  const unlisten = input.probe.listen(() => {
    input.entry.loadedNeeds = [];
    noteRestart(health);
    loop.wake();
  });
  return {
    wake: () => loop.wake(),
    first: first.promise,
    async stop() {
      unlisten();
      stopping.abort();
      first.resolve();
      await loop.stop();
    },
  };
}

async function probeOnce(input: WatchInput, signal: AbortSignal): Promise<void> {
  const { entry, probe, log } = input;
  const { health } = entry;
  const before = conditionOf(entry);
  const { lostRuns } = health;
  // A run may end while the probe reads: then the server's queue still counts its prompt.
  const wasHeld = entry.jobId !== null;
  try {
    if (health.mustFree) {
      await free(probe, log, signal);
      entry.loadedNeeds = [];
    }
    health.mustFree = false;
    const { version } = entry.facts;
    entry.facts = await probe.read(signal);
    if (entry.facts.version !== version) health.isTooOld = false;
    entry.othersQueued = Math.max(
      0,
      (entry.facts.queueLength ?? 0) - (wasHeld || entry.jobId !== null ? 1 : 0),
    );
    // Another client's prompt may need another model.
    if (entry.othersQueued > 0) entry.loadedNeeds = [];
    // A run that was lost meanwhile is newer than this answer.
    if (health.lostRuns === lostRuns) noteAnswer(health, performance.now());
  } catch (error) {
    if (signal.aborted || isDeepInWork(entry, error)) return;
    // A server that comes back may have other models.
    probe.forget();
    entry.loadedNeeds = [];
    noteSilence(health, toAppError(error), performance.now());
  } finally {
    entry.probedAt = new Date();
    // Synchronous with the change: no code may see the changed server together with the old offer.
    if (!signal.aborted) reportChange(input, before);
  }
}

/** Frees the memory of the server. An error of a server that still answers is only logged. */
async function free(probe: ServerProbe, log: Logger, signal: AbortSignal): Promise<void> {
  await probe.free(signal).catch((error: unknown) => {
    if (!isAppError(error) || error.code === "server_lost") throw error;
    log.warn({ err: error }, "a server did not free its memory");
  });
}

/** A server that loads a model for our job may not answer for a while; the run has its own check for that. */
function isDeepInWork({ jobId }: ServerEntry, error: unknown): boolean {
  return jobId !== null && isAppError(error) && error.details?.["reason"] === "timeout";
}

function reportChange({ entry, log, onChange }: WatchInput, before: string): void {
  const state = conditionOf(entry);
  if (state !== before)
    log.info(
      { server: entry.label, state, needs: entry.facts.needs.length, reason: entry.health.lastError },
      "server changed",
    );
  onChange();
}
