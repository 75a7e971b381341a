import { type SQL, sql } from "drizzle-orm";

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
