import { inArray, type SQL, sql, type SQLWrapper } from "drizzle-orm";
import { duration, fromNow, schema } from "../db/index.ts";
import type { Services } from "../services.ts";
import { isFree, isHeldBy, newToken } from "./lease.ts";

const { turns } = schema;

type Input = Pick<Services, "db">;

/** The right to do this work; `renewTurn` and `endTurn` check it. */
export interface Turn {
  readonly name: string;
  readonly token: string;
}

/** The turn of a process that died is free again after this time. */
const holdMs = 60_000;
export const renewMs = holdMs / 3;

interface TakeInput {
  readonly name: string;
  /** Takes it also before it is due. */
  readonly isForced?: boolean;
}

/** What lies further ahead was written before the clock of the database was set back: it would rest until that time comes again. */
const setBackMs = 60_000;
const isAhead = (time: SQLWrapper, ms: number) => sql`coalesce(${time} > ${fromNow(ms)}, false)`;
const dueAt = sql`case when ${isAhead(turns.beganAt, setBackMs)} then clock_timestamp() else ${turns.dueAt} end`;
/** Who still works has renewed it by the new time. */
const heldUntil = sql`case when ${isAhead(turns.heldUntil, holdMs + setBackMs)} then null else ${turns.heldUntil} end`;
const isDue = sql`${dueAt} <= clock_timestamp()`;

/** Takes a turn that is due; of several processes one gets it, the others null. */
export async function takeTurn({ db }: Input, { name, isForced }: TakeInput): Promise<Turn | null> {
  const held = { token: newToken(), heldUntil: fromNow(holdMs), beganAt: sql`clock_timestamp()` };
  const taken = await db
    .insert(turns)
    // The default of the column is rounded up: it would be due half a millisecond later.
    .values({ name, ...held, dueAt: fromNow(0) })
    .onConflictDoUpdate({
      target: turns.name,
      set: held,
      setWhere: sql`${isFree({ until: heldUntil })} ${isForced ? sql`` : sql`and ${isDue}`}`,
    })
    .returning({ name: turns.name });
  return taken.length > 0 ? { name, token: held.token } : null;
}

/** Holds the turn for longer; false when another process may have it. */
export async function renewTurn({ db }: Input, turn: Turn): Promise<boolean> {
  const renewed = await db
    .update(turns)
    .set({ heldUntil: fromNow(holdMs) })
    .where(isHeldTurn(turn))
    .returning({ name: turns.name });
  return renewed.length > 0;
}

const isHeldTurn = ({ name, token }: Turn): SQL => sql`${turns.name} = ${name} and ${isHeldBy(turns, token)}`;

export interface TurnEnd {
  /** Until it is due again, ms. */
  readonly waitMs: number;
  /** False without an error: the turn is given back. */
  readonly isDone: boolean;
  /** Done without what failed before: the failures in a row stay. */
  readonly keepsFailures?: boolean;
  /** Why the work failed. */
  readonly error?: string;
  /** The wait doubles with each failure in a row, up to this, ms. */
  readonly mostWaitMs?: number;
}

/** Ends a turn and stores how it went. Nothing happens when another process has taken it over. */
export async function endTurn({ db }: Input, turn: Turn, end: TurnEnd): Promise<void> {
  const { waitMs, isDone, keepsFailures = false, error, mostWaitMs } = end;
  const tookMs = sql`round(extract(epoch from clock_timestamp() - ${turns.beganAt}) * 1000)`;
  const forgiven = keepsFailures ? {} : { failures: 0 };
  const done = isDone ? { ...forgiven, doneAt: sql`clock_timestamp()`, tookMs } : {};
  const failed =
    error === undefined
      ? {}
      : { failures: sql`${turns.failures} + 1`, error, failedAt: sql`clock_timestamp()`, tookMs };
  await db
    .update(turns)
    .set({
      token: null,
      heldUntil: null,
      dueAt: mostWaitMs === undefined ? fromNow(waitMs) : growingWait(waitMs, mostWaitMs),
      ...done,
      ...failed,
    })
    .where(isHeldTurn(turn));
}

/** By the failures before this one; 2 to the power of 30 of them is longer than any wait. */
const growingWait = (firstMs: number, mostMs: number): SQL =>
  sql`clock_timestamp() + ${duration(sql`least(${mostMs}::float8, ${firstMs}::float8 * power(2::float8, least(${turns.failures}, 30)))`)}`;

/** Makes a turn due after this many ms, and ends it where a process has it. */
export async function postponeTurn({ db }: Input, name: string, waitMs: number): Promise<void> {
  const rest = { token: null, heldUntil: null, dueAt: fromNow(waitMs) };
  await db
    .insert(turns)
    .values({ name, ...rest })
    .onConflictDoUpdate({ target: turns.name, set: rest });
}

/** How long each of these turns rests or is held from now on, ms; those that can be taken now are missing. */
export async function readTurnWaits({ db }: Input, names: readonly string[]): Promise<Map<string, number>> {
  const until = sql<number>`(extract(epoch from greatest(${dueAt}, ${heldUntil}) - clock_timestamp()) * 1000)::float8`;
  const rows = await db
    .select({ name: turns.name, waitMs: until })
    .from(turns)
    .where(sql`${inArray(turns.name, [...names])} and ${until} > 0`);
  return new Map(rows.map(({ name, waitMs }) => [name, waitMs]));
}

const forgottenAfterDays = 30;

/** Removes turns of work that no version of the product does any more: they were due long ago. */
export async function pruneTurns({ db }: Input): Promise<void> {
  await db.delete(turns).where(sql`${turns.dueAt} < now() - make_interval(days => ${forgottenAfterDays})`);
}

/** A turn as admins see it; ages in ms by the clock of the database. */
export interface TurnFigures extends Record<string, unknown> {
  readonly name: string;
  /** Since it last ended well; null when it never did. */
  readonly doneAgeMs: number | null;
  readonly tookMs: number | null;
  /** Failed ends in a row. */
  readonly failures: number;
  /** Of the last failure, be it over or not. */
  readonly error: string | null;
  readonly failedAgeMs: number | null;
  readonly isRunning: boolean;
}

export async function readTurnFigures({ db }: Input): Promise<TurnFigures[]> {
  const age = (column: SQL) => sql`(extract(epoch from clock_timestamp() - ${column}) * 1000)::float8`;
  return db.execute<TurnFigures>(sql`
    select name, ${age(sql`done_at`)} as "doneAgeMs", took_ms as "tookMs", failures, error,
      ${age(sql`failed_at`)} as "failedAgeMs", not ${isFree({ until: heldUntil })} as "isRunning"
    from ${turns} order by failures = 0, name`);
}
