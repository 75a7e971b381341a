import { drizzle, type NodePgDatabase } from "drizzle-orm/node-postgres";
import type pg from "pg";
import { LastingPool } from "./lasting-pool.ts";
import * as schema from "./schema/index.ts";

export type Db = NodePgDatabase<typeof schema>;
/** A transaction; whatever takes a `Db` to read or write takes it as well. */
export type Tx = Parameters<Parameters<Db["transaction"]>[0]>[0];

export interface Database {
  readonly db: Db;
  readonly pool: pg.Pool;
  close(): Promise<void>;
}

export interface DatabaseOptions {
  readonly url: string;
  /** Shown in pg_stat_activity. */
  readonly applicationName: string;
  readonly maxConnections?: number;
  /** Called with errors of idle connections, which the pool replaces by itself. */
  readonly onError?: (error: Error) => void;
}

/** Sent with the start of each connection; a pooler refuses it unless it is told to ignore them. */
export const sessionLimits = {
  idle_in_transaction_session_timeout: 15_000,
  statement_timeout: 30_000,
} as const;

/** Opens a pool; nothing connects until the first query. A lost connection is replaced by the next query. */
export function openDatabase(options: DatabaseOptions): Database {
  const pool = new LastingPool({
    connectionString: options.url,
    application_name: options.applicationName,
    max: options.maxConnections ?? 5,
    connectionTimeoutMillis: 5_000,
    idleTimeoutMillis: 30_000,
    ...sessionLimits,
    keepAlive: true,
  });
  pool.on("error", (error) => options.onError?.(error));
  // A client in a transaction has no listener of the pool; without one its cut connection would end the process.
  pool.on("connect", (client) => client.on("error", (error) => options.onError?.(error)));
  return { db: drizzle(pool, { schema }), pool, close: () => pool.end() };
}
