import { sql, type SQL } from "drizzle-orm";
import { type AttemptState, type Db, fromNow, schema, type Tx } from "../db/index.ts";
import { isHeldBy, whileHeld } from "../leases/index.ts";
import { isOrphaned } from "../nodes/index.ts";
import type { Config } from "../platform/index.ts";
import type { Services } from "../services.ts";
import { type Attempt, attemptFromRow, attemptHoldMs, renewalOf, wordsToKeep } from "./attempts.ts";
import type { ProviderError, RunHandle } from "./port.ts";

const { providerAttempts } = schema;

const openStates = ["submitting", "unknown", "accepted"] as const satisfies readonly AttemptState[];

/**
 * The whole life of an attempt: every move of its state, who makes it, and from where. `reserve_attempt` inserts it as
 * `submitting` before the call; only the functions of this file move it, and a move from another state changes nothing.
 */
export const moves = {
  /** By the worker that called, with the provider's answer; by who finds the run later, in its list or by its webhook. */
  accept: { from: ["submitting", "unknown"], to: "accepted" },
  /** By the worker whose answer was lost; by the sweep, when the worker is gone or does not renew the attempt. */
  lose: { from: ["submitting"], to: "unknown" },
  /** By the worker that was refused; by who follows the run, when it failed, was never accepted, or is not found in time. */
  fail: { from: openStates, to: "failed" },
  /** By who follows the run and has stored its pictures, or their cost alone. */
  succeed: { from: openStates, to: "succeeded" },
  /** By who follows a run that the provider has stopped. */
  cancel: { from: openStates, to: "cancelled" },
} as const satisfies Record<string, { from: readonly AttemptState[]; to: AttemptState }>;

type Changes = {
  readonly [Column in keyof Omit<Attempt, "state">]?: Attempt[Column] | SQL;
};

interface Move {
  readonly id: string;
  readonly by: keyof typeof moves;
  readonly set: Changes;
  readonly also?: SQL;
}

function moving(db: Db | Tx, { id, by, set, also = sql`true` }: Move) {
  const { from, to } = moves[by];
  return db
    .update(providerAttempts)
    .set({ ...set, state: to })
    .where(sql`${providerAttempts.id} = ${id} and ${providerAttempts.state} in ${[...from]} and ${also}`)
    .returning();
}

/** Null when the attempt is in another state or another process has it, which was first. */
async function move(db: Db | Tx, change: Move): Promise<Attempt | null> {
  const [attempt] = await moving(db, change);
  return attempt ?? null;
}

/** Whether the provider has the run, or may have it. */
export const isOpenState = (state: AttemptState): boolean => openStates.some((open) => open === state);

/** Whether somebody asks, or will ask, for the run of an attempt. */
export async function isFollowed(db: Db | Tx, attemptId: string): Promise<boolean> {
  const isOpen = sql`${providerAttempts.id} = ${attemptId} and ${providerAttempts.state} in ${[...openStates]}`;
  return (await db.$count(providerAttempts, isOpen)) > 0;
}

export interface Acceptance {
  readonly handle: RunHandle;
  readonly pollAfterS: number;
  readonly runLimitS: number;
}

/**
 * The provider accepted. Written whatever became of the job meanwhile, so that the run and its cost are never forgotten;
 * an attempt that counted as unknown becomes known again.
 */
export function acceptAttempt(
  db: Db | Tx,
  attemptId: string,
  { handle, pollAfterS, runLimitS }: Acceptance,
): Promise<Attempt | null> {
  return move(db, {
    id: attemptId,
    by: "accept",
    set: {
      nodeId: null,
      externalId: handle.externalId,
      urls: { ...handle.urls },
      acceptedAt: sql`clock_timestamp()`,
      nextPollAt: fromNow(pollAfterS * 1_000),
      deadlineAt: fromNow(runLimitS * 1_000),
      finishToken: null,
      finishUntil: null,
      errorMessage: null,
      polls: 0,
    },
  });
}

interface Lost {
  /** Seconds until the provider is asked first. */
  readonly firstLookS: number;
  /** What the worker saw; null when it is gone. */
  readonly message: string | null;
}

/** The outcome of the call is not known. Whoever follows it asks the provider until the deadline. */
export function loseAttempt(
  db: Db | Tx,
  { cloud }: Pick<Config, "cloud">,
  attemptId: string,
  { firstLookS, message }: Lost,
): Promise<Attempt | null> {
  return move(db, {
    id: attemptId,
    by: "lose",
    set: {
      nodeId: null,
      errorMessage: message,
      nextPollAt: fromNow(firstLookS * 1_000),
      deadlineAt: fromNow(cloud.reconcileS * 1_000),
    },
  });
}

/** The calls whose process died, or does not renew them. */
export async function findLostCalls({ db }: { readonly db: Db }): Promise<Attempt[]> {
  const rows = await db.execute<Record<string, unknown>>(sql`
    select * from ${providerAttempts} where state = 'submitting' and (next_poll_at <= clock_timestamp()
      or ${isOrphaned(providerAttempts.nodeId)})`);
  return rows.map(attemptFromRow);
}

interface Failure {
  /** Says whether the provider or the job is to blame. */
  readonly error: ProviderError;
  readonly costUsd: number | null;
}

/** An attempt as its process read it. A follower has a token, and ends it only while no other has taken it; a caller has none. */
type Owned = Pick<Attempt, "id" | "finishToken">;

const stillHeld = ({ finishToken }: Owned): SQL =>
  finishToken === null ? sql`true` : isHeldBy({ token: providerAttempts.finishToken }, finishToken);

function failureOf(id: string, { error, costUsd }: Failure): Move {
  const set = {
    ...ended(costUsd),
    errorClass: error.class,
    errorMessage: wordsToKeep(error),
    retryAfterMs: error.retryAfterMs,
  };
  return { id, by: "fail", set };
}

/** Ends an open attempt as failed. Null when it has ended, or another process follows it now. */
export function failAttempt(db: Db | Tx, attempt: Owned, failure: Failure): Promise<Attempt | null> {
  return move(db, { ...failureOf(attempt.id, failure), also: stillHeld(attempt) });
}

/** `failAttempt` as a common table expression of a statement that changes the job: carried out only when that changes a row. */
export function failedIn(db: Db, attemptId: string, failure: Failure): SQL {
  return sql`, failed as ${moving(db, { ...failureOf(attemptId, failure), also: sql`exists (select from moved)` })}`;
}

/** Ends an open attempt as succeeded or cancelled. Null when it has ended, or another process follows it now. */
export function endAttempt(
  db: Db | Tx,
  attempt: Owned,
  { state, costUsd }: { readonly state: "succeeded" | "cancelled"; readonly costUsd: number | null },
): Promise<Attempt | null> {
  const by = state === "succeeded" ? "succeed" : "cancel";
  return move(db, { id: attempt.id, by, set: ended(costUsd), also: stillHeld(attempt) });
}

function ended(costUsd: number | null): Changes {
  return {
    nodeId: null,
    ...(costUsd === null ? {} : { costUsd }),
    endedAt: sql`clock_timestamp()`,
    nextPollAt: null,
    finishToken: null,
    finishUntil: null,
  };
}

/** Keeps an attempt with its caller, or for half an hour at most with its follower, while the work on it goes on. */
export function holdAttempt<T>(
  services: Pick<Services, "db" | "log">,
  attempt: Owned,
  work: () => Promise<T>,
): Promise<T> {
  const isCaller = attempt.finishToken === null;
  const isHeld = isCaller ? sql`${providerAttempts.state} = 'submitting'` : stillHeld(attempt);
  const set = { [isCaller ? "nextPollAt" : "finishUntil"]: fromNow(attemptHoldMs) };
  const where = sql`${providerAttempts.id} = ${attempt.id} and ${isHeld}`;
  const renew = () => services.db.update(providerAttempts).set(set).where(where);
  return whileHeld(services, { ...renewalOf(isCaller), name: `attempt ${attempt.id}`, renew }, work);
}
