import { setTimeout as sleep } from "node:timers/promises";
import { isDatabaseAway } from "../db/index.ts";

const pauseMs = 500;

interface Patience {
  /** How long the database may be away, ms. */
  readonly patienceMs?: number;
  readonly signal?: AbortSignal;
}

/**
 * Repeats a write while the database is away, so that a restart of it does not cost finished work. The write must be
 * idempotent, since a commit may succeed without an answer. Rejects with the signal's reason on abort.
 */
export async function persist<T>(
  write: () => Promise<T>,
  { patienceMs = 30_000, signal }: Patience = {},
): Promise<T> {
  const endMs = performance.now() + patienceMs;
  for (;;) {
    try {
      return await write();
    } catch (error) {
      if (!isDatabaseAway(error) || performance.now() > endMs) throw error;
    }
    await sleep(pauseMs);
    signal?.throwIfAborted();
  }
}
