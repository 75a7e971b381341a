import { DrizzleQueryError, sql } from "drizzle-orm";
import { drizzle, type NodePgDatabase } from "drizzle-orm/node-postgres";
import pg from "pg";
import * as schema from "./schema/index.ts";

/** Classes of SQLSTATE whose cause is not the statement: connection, resources, operator's stop. */
const passingClasses = ["08", "53", "57"];
/** Deadlock, serialization, a session ended for idling in its transaction, and a write to a read-only database. */
const passingStates = ["40001", "40P01", "25P03", "25006"];

/** Codes of the network only: a full or missing folder is no outage of the database. */
const networkCodes = /^E(?:CONN|PIPE|TIMEDOUT|NOTFOUND|AI_|HOST|NET)/;

function readCode(error: Error): string | null {
  return "code" in error && typeof error.code === "string" ? error.code : null;
}

/**
 * Whether a query failed for a reason that passes: the server was away or read-only, or the connection broke. Such an error has a
 * passing SQLSTATE, a code of the system (ECONNREFUSED), or none at all (the driver noticed the cut itself).
 */
export function isDatabaseAway(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  if (error instanceof DrizzleQueryError) return error.cause instanceof Error && isPassing(error.cause);
  // `begin` and `commit` of a transaction fail with the driver's own error.
  const code = readCode(error);
  return code !== null && isPassing(error);
}

function isPassing(error: Error): boolean {
  const code = readCode(error);
  if (code === null) return true;
  if (networkCodes.test(code)) return true;
  // A socket in the file system that is not there, or not yet.
  if ("syscall" in error && error.syscall === "connect") return true;
  return passingClasses.includes(code.slice(0, 2)) || passingStates.includes(code);
}

type Callback = Parameters<pg.Pool["connect"]>[0];

/** System code for errors of the driver that have only a message; `isDatabaseAway` accepts it. */
const awayCode = "ECONNABORTED";

/** A pool that keeps all its connections usable after an outage of the database, and marks errors of an outage. */
class LastingPool extends pg.Pool {
  override connect(): Promise<pg.PoolClient>;
  override connect(callback: Callback): void;
  override connect(callback?: Callback): Promise<pg.PoolClient> | void {
    if (callback) return super.connect(callback);
    return super.connect().then(returnWhenCut, failAsAway);
  }
}

/** A connect timeout is an error without a code, so it gets one here. */
function failAsAway(error: unknown): never {
  if (error instanceof Error && !("code" in error)) throw Object.assign(error, { code: awayCode });
  throw error;
}

/** A transaction whose `begin` fails never releases its client, so a cut connection releases itself. */
function returnWhenCut(client: pg.PoolClient): pg.PoolClient {
  const giveBack = client.release.bind(client);
  let isGivenBack = false;
  const release = (error?: Error | boolean) => {
    if (isGivenBack) return;
    isGivenBack = true;
    client.off("end", onEnd);
    giveBack(error);
  };
  const onEnd = () => release(true);
  client.once("end", onEnd);
  client.release = release;
  return client;
}

const last = new Map<string, Promise<void>>();

/**
 * Runs `work` after all earlier work of the same key in this process. Transactions that lock the same row or key take
 * turns here first: otherwise each of them waits for the lock with a connection of the pool, and others find none.
 */
export async function inTurn<T>(key: string, work: () => Promise<T>): Promise<T> {
  const before = last.get(key);
  const turn = Promise.withResolvers<void>();
  last.set(key, turn.promise);
  try {
    await before;
    return await work();
  } finally {
    turn.resolve();
    if (last.get(key) === turn.promise) last.delete(key);
  }
}

export type Db = NodePgDatabase<typeof schema>;
/** A transaction; functions for a single query accept `Db | Tx`. */
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

/** Sent with the start of each connection; a pooler refuses the connection unless it ignores these parameters. */
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

/** SQLSTATE of a write to a read-only database; `isDatabaseAway` knows it. */
const readOnlyState = "25006";

/** Throws when the database does not answer or takes no writes, as a standby does. */
export async function probeDatabase(db: Db): Promise<void> {
  // On for a standby (`pg_is_in_recovery()`) as well as by `default_transaction_read_only`.
  const { rows } = await db.execute<{ mode: string }>(
    sql`select current_setting('transaction_read_only') as mode`,
  );
  if (rows[0]?.mode === "on")
    throw Object.assign(new Error("The database is read-only."), { code: readOnlyState });
}
