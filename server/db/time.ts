import { type SQL, sql } from "drizzle-orm";

/** SQL: a length of time. */
export const duration = (ms: number | SQL): SQL => sql`${ms} * interval '1 millisecond'`;

/** SQL: that long before the transaction began, by the clock of the database, which wrote the times compared with it. */
export const ago = (ms: number): SQL => sql`now() - ${duration(ms)}`;
