import type { Logger } from "./log.ts";

const firstPauseMs = 10_000;
const longestPauseMs = 10 * 60_000;
/** Kinds that are told apart; foreign texts must not fill the memory. */
const maxKinds = 100;

interface Told {
  nextAtMs: number;
  pauseMs: number;
  left: number;
}

/**
 * Logs errors of connections that reconnect by themselves. Of each kind the first is told, then one after pauses that
 * double from ten seconds to ten minutes, with how many were left out; after a longer rest a kind is new again.
 */
export function logConnectionErrors(
  log: Logger,
  describe: (error: Error) => string | null = () => null,
): (error: Error) => void {
  const told = new Map<string, Told>();
  return (error) => {
    const text = describe(error) ?? "connection lost, reconnecting";
    const code = "code" in error ? String(error.code) : (error.message.split(/[\s:]/, 1)[0] ?? "");
    const kind = `${text} ${code}`;
    const nowMs = performance.now();
    const known = told.get(kind);
    if (known && nowMs < known.nextAtMs) {
      known.left += 1;
      return;
    }
    const isNew = !known || nowMs > known.nextAtMs + known.pauseMs;
    const pauseMs = isNew ? firstPauseMs : Math.min(longestPauseMs, known.pauseMs * 2);
    if (told.size >= maxKinds) told.clear();
    told.set(kind, { nextAtMs: nowMs + pauseMs, pauseMs, left: 0 });
    log.warn({ err: error, ...(known && known.left > 0 ? { leftOut: known.left } : {}) }, text);
  };
}
