import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { type SQL, sql, type SQLWrapper } from "drizzle-orm";
import { isDatabaseAway } from "../db/index.ts";
import type { Services } from "../services.ts";

/** The columns by which one process at a time owns a row; until: the end of the lease, or an SQL expression of it. */
interface LeaseColumns {
  readonly token: SQLWrapper;
  readonly until: SQLWrapper;
}

export const newToken = (): string => randomUUID();

/** SQL condition: the row is free, or the time of its owner is over. */
export const isFree = ({ until }: Pick<LeaseColumns, "until">): SQL =>
  sql`coalesce(${until} <= clock_timestamp(), true)`;

/** SQL condition: the lease of this token is still the current one. */
export const isHeldBy = ({ token }: Pick<LeaseColumns, "token">, held: string | null): SQL =>
  sql`${token} = ${held}::uuid`;

interface Renewal {
  /** What is held, for the log. */
  readonly name: string;
  readonly everyMs: number;
  /** Work that has not ended by then may never end: its lease is left to its end; without limit unless given. */
  readonly mostMs?: number;
  readonly renew: () => Promise<unknown>;
}

/** Renews a lease while the work under it goes on, for `mostMs` at most. A renewal that fails is made again the next time. */
export async function whileHeld<T>(
  { log }: Pick<Services, "log">,
  { name, everyMs, mostMs = Infinity, renew }: Renewal,
  work: () => Promise<T>,
): Promise<T> {
  let heldMs = 0;
  const renewing = setInterval(() => {
    heldMs += everyMs;
    if (heldMs > mostMs) return clearInterval(renewing);
    renew().catch((error: unknown) => log.debug({ err: error, lease: name }, "a lease was not renewed"));
  }, everyMs);
  try {
    return await work();
  } finally {
    clearInterval(renewing);
  }
}

const pauseMs = 500;

interface Patience {
  /** How long the database may be away, ms. */
  readonly patienceMs?: number;
  readonly signal?: AbortSignal;
}

/**
 * Repeats a write of the owner while the database is away, so that a restart of it does not cost finished work. The write
 * must be idempotent, since a commit may succeed without an answer. Rejects with the signal's reason on abort.
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
