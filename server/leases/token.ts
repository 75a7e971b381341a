import { randomUUID } from "node:crypto";
import { type SQL, sql, type SQLWrapper } from "drizzle-orm";

/** The columns by which one process at a time owns a row; until: the end of the lease, or an SQL expression of it. */
export interface LeaseColumns {
  readonly token: SQLWrapper;
  readonly until: SQLWrapper;
}

export const newToken = (): string => randomUUID();

/** SQL: the time at which a lease of this many ms ends that begins now. */
export const heldFor = (ms: number): SQL => sql`clock_timestamp() + ${ms}::float8 * interval '1 millisecond'`;

/** SQL condition: the row is free, or its owner let the time pass. */
export const isFree = ({ until }: Pick<LeaseColumns, "until">): SQL =>
  sql`(${until} is null or ${until} <= clock_timestamp())`;

/** SQL condition: the lease of this token is still the current one. */
export const isHeldBy = ({ token }: Pick<LeaseColumns, "token">, held: string | null): SQL =>
  sql`${token} = ${held}::uuid`;
