import { type SQL, sql, type SQLWrapper } from "drizzle-orm";
import { clockStretches } from "./schema/index.ts";

/** SQL: a length of time. */
export const duration = (ms: number | SQL): SQL => sql`${ms} * interval '1 millisecond'`;

/** SQL: that long before the transaction began, by the clock of the database, which wrote the times compared with it. */
export const ago = (ms: number): SQL => sql`now() - ${duration(ms)}`;

/**
 * SQL: the end of a lease, or of a pause, of this many ms that begins now. Rounded down to the milliseconds that most
 * columns hold, which would round half of them up: what is due at once would be due half a millisecond later.
 */
export const fromNow = (ms: number): SQL =>
  sql`date_trunc('milliseconds', clock_timestamp() + ${duration(sql`${ms}::float8`)})`;

/** Workers look at the clock each half minute; what they did not see for longer has passed without them, or never. */
export const unseenMs = 300_000;

/** The longest of the pauses that ended after a time; `most`: as much as may count of one, by its end. */
const longestPause = (at: SQLWrapper, most: (end: SQL) => SQL): SQL => sql`(select greatest(interval '0',
  max(least(${duration(sql`missed_ms`)}, ${most(sql`began_at`)})) filter (where began_at > ${at}),
  case when max(seen_at) < clock_timestamp() - ${duration(unseenMs)}
    then least(clock_timestamp() - max(seen_at), ${most(sql`clock_timestamp()`)}) end) from ${clockStretches})`;

/** SQL: the longest time since then that no worker saw pass, as an interval: none ran, or the clock was set ahead. */
export const missedSince = (at: SQLWrapper): SQL => longestPause(at, (end) => sql`${end} - (${at})`);

/** SQL: as `ago`, for what cannot be undone: a clock that is set ahead makes nothing older. */
export const surelyAgo = (ms: number | SQL): SQL => {
  const then = sql`(now() - ${duration(ms)})`;
  return sql`(${then} - ${longestPause(then, () => sql`null`)})`;
};
