import { setTimeout as sleep } from "node:timers/promises";
import { isDatabaseAway } from "@atelier/server/db";

const patienceMs = 30_000;
const pauseMs = 500;

/**
 * Repeats a write while the database is away, so that minutes of an engine's work are not lost to a restart of it.
 * The write must be idempotent: a lost answer may hide a commit. Rejects with the signal's reason when aborted.
 */
export async function persist<T>(signal: AbortSignal, write: () => Promise<T>): Promise<T> {
  const endMs = performance.now() + patienceMs;
  for (;;) {
    try {
      return await write();
    } catch (error) {
      if (!isDatabaseAway(error) || performance.now() > endMs) throw error;
    }
    await sleep(pauseMs);
    signal.throwIfAborted();
  }
}
