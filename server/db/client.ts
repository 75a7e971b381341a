import { DrizzleQueryError, sql } from "drizzle-orm";
import { drizzle, type PostgresJsDatabase } from "drizzle-orm/postgres-js";
import type { Sql } from "postgres";
import journal from "../../drizzle/migrations/meta/_journal.json" with { type: "json" };
import functionsVersion from "./functions/version.json" with { type: "json" };
import { Pool } from "./pool.ts";
import * as schema from "./schema/index.ts";
import { connectionCodes, readOnlyState, type Statement } from "./session.ts";

/** Classes of SQLSTATE for temporary causes outside the statement: connection, resources, a stop by the operator. */
const temporaryClasses = ["08", "53", "57"];
/**
 * Further temporary states: deadlock, serialization, limits of the server for locks, for transactions and for idle ones, and
 * a write to a read-only database.
 */
const temporaryStates = ["40001", "40P01", "55P03", "25P03", "25P04", readOnlyState];

/**
 * What hosts answer in the place of the server, such as that a pooler has no connection free or that the machine does not
 * start. The server itself names the routine of an internal error.
 */
const internalState = "XX000";
/** What hosts say so as well, and what lasts until somebody mends the address. */
const wrongAddress =
  /\b(?:tenant|user|role|database|endpoint|project)\b.{0,60}\b(?:not (?:be )?found|do(?:es)? not exist|doesn't exist)\b|unknown (?:tenant|user|role|database)|password authentication failed/i;

/** Codes of the network only: a full or missing folder is no outage of the database. */
const networkCodes = /^E(?:CONN|PIPE|TIMEDOUT|NOTFOUND|AI_|HOST|NET)/;
const driverCodes: readonly string[] = Object.values(connectionCodes);

function readCode(error: Error): string | null {
  return "code" in error && typeof error.code === "string" ? error.code : null;
}

/**
 * Whether a query failed for a temporary reason: the server was unreachable or read-only, or the connection broke. Such
 * an error has a temporary SQLSTATE, a system code (ECONNREFUSED) or a code of the driver.
 */
export function isDatabaseAway(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  if (error instanceof DrizzleQueryError) return error.cause instanceof Error && isTemporary(error.cause);
  // `begin` and `commit` of a transaction fail with the driver's own error.
  return isTemporary(error);
}

function isTemporary(error: Error): boolean {
  const code = readCode(error);
  if (code === null) return false;
  if (driverCodes.includes(code)) return true;
  if (networkCodes.test(code)) return true;
  // The Unix socket of the server does not exist (yet).
  if ("syscall" in error && error.syscall === "connect") return true;
  if (code === internalState && !("routine" in error && error.routine))
    return !wrongAddress.test(error.message);
  return temporaryClasses.includes(code.slice(0, 2)) || temporaryStates.includes(code);
}

export type Db = PostgresJsDatabase<typeof schema>;
/** A transaction; functions for a single query accept `Db | Tx`. */
export type Tx = Parameters<Parameters<Db["transaction"]>[0]>[0];

export interface Database {
  readonly db: Db;
  close(): Promise<void>;
}

export interface DatabaseOptions {
  readonly url: string;
  /** Shown in pg_stat_activity. */
  readonly applicationName: string;
  readonly maxConnections?: number;
  /** The address leads to a pooler in transaction mode. */
  readonly isPooled?: boolean;
  /** Called with errors of idle connections; the pool replaces these connections. */
  readonly onError?: (error: Error) => void;
}

const defaultMaxConnections = 5;

/** Opens a pool; nothing connects until the first query. A lost connection is replaced by the next query. */
export function openDatabase(options: DatabaseOptions): Database {
  const { url, applicationName, maxConnections = defaultMaxConnections, onError = () => undefined } = options;
  const { isPooled = false } = options;
  const pool = new Pool({ url, applicationName, maxConnections, isPooled, onError });
  // Safe: drizzle uses no other members of the client.
  const client = clientOf(pool) as unknown as Sql;
  return { db: drizzle({ client, schema }), close: () => pool.close() };
}

type Run = (statement: Statement) => Promise<readonly unknown[]>;

/** The members of a postgres.js client that drizzle calls, implemented with the pool. */
function clientOf(pool: Pool) {
  const client = {
    // Drizzle writes its type conversions here; they are unused, since wire-types.ts converts.
    options: { parsers: {}, serializers: {} },
    query: (statement: Statement) => pool.run(statement),
    unsafe: (text: string, params: readonly unknown[]) =>
      startQuery((statement) => client.query(statement), { text, params }),
    begin: <T>(work: (client: object) => Promise<T>) =>
      pool.transaction((session) => work(transactionOf((statement) => session.run(statement)))),
  };
  return client;
}

function transactionOf(run: Run, depth = 0): object {
  const name = `s${depth}`;
  const command = (text: string) => run({ text, params: [], shape: "objects" });
  return {
    unsafe: (text: string, params: readonly unknown[]) => startQuery(run, { text, params }),
    async savepoint<T>(work: (client: object) => Promise<T>): Promise<T> {
      await command(`savepoint ${name}`);
      try {
        const result = await work(transactionOf(run, depth + 1));
        await command(`release savepoint ${name}`);
        return result;
      } catch (error) {
        await command(`rollback to savepoint ${name}`);
        throw error;
      }
    },
  };
}

/** A query with the interface of postgres.js: `values()`, called at once, requests arrays instead of objects. */
function startQuery(run: Run, { text, params }: Omit<Statement, "shape">) {
  const wanted: { shape: Statement["shape"] } = { shape: "objects" };
  const rows = Promise.resolve().then(() => run({ text, params, ...wanted }));
  const values = () => {
    wanted.shape = "arrays";
    return rows;
  };
  return Object.assign(rows, { values });
}

/** Throws when the database does not answer or accepts no writes, like a standby. */
export async function probeDatabase(db: Db): Promise<void> {
  // `on` for a standby (`pg_is_in_recovery()`) and with `default_transaction_read_only`.
  const rows = await db.execute<{ mode: string }>(
    sql`select current_setting('transaction_read_only') as mode`,
  );
  if (rows[0]?.mode === "on")
    throw Object.assign(new Error("The database is read-only."), { code: readOnlyState });
}

/** The database was never migrated, or by a version that did not keep functions apart. */
const undefinedTable = "42P01";

interface Applied {
  /** Time of making of the last migration. */
  readonly migratedAt: number;
  /** Version of the SQL functions. */
  readonly functions: number;
}

async function readApplied(db: Db): Promise<Applied> {
  try {
    const [row] = await db.execute<Record<keyof Applied, number | null>>(sql`
      select (select max(created_at)::float8 from drizzle.__drizzle_migrations) as "migratedAt",
        (select max(version) from drizzle.functions) as functions`);
    return { migratedAt: row?.migratedAt ?? 0, functions: row?.functions ?? 0 };
  } catch (error) {
    const cause = error instanceof DrizzleQueryError ? error.cause : error;
    if (cause instanceof Error && "code" in cause && cause.code === undefinedTable)
      return { migratedAt: 0, functions: 0 };
    throw error;
  }
}

/**
 * Why this process cannot work with the schema of the database, for people; null when it can. A newer schema is no reason:
 * migrations only add, and the processes of two versions overlap at each deployment. Throws when the database is away.
 */
export async function findSchemaMismatch(db: Db): Promise<string | null> {
  const wantedAt = Math.max(...journal.entries.map(({ when }) => when));
  const applied = await readApplied(db);
  if (applied.migratedAt >= wantedAt && applied.functions >= functionsVersion.version) return null;
  return "The schema of the database is older than this web: run `pnpm db:migrate` or start a worker of this version.";
}
