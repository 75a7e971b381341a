import { connect, type Socket } from "node:net";
import type { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { getTableName, is } from "drizzle-orm";
import { PgTable } from "drizzle-orm/pg-core";
import postgres from "postgres";
import * as schema from "./schema/index.ts";
import { readAddress } from "./session.ts";
import { wireTypes } from "./wire-types.ts";

/** A table of our own as it is in a database, which may be older than this version. */
export interface TableShape {
  readonly name: string;
  readonly columns: readonly string[];
}

/** Everything that was committed at one moment. */
export interface Snapshot {
  /** Tables that others refer to come first. */
  readonly tables: readonly TableShape[];
  /** The rows of a table in PostgreSQL's text format of COPY. Read to the end before the next call. */
  copyOut(table: TableShape): Promise<Readable>;
  read<Row extends object>(query: string): Promise<readonly Row[]>;
  /** The rows of a query that has many. */
  batches<Row extends object>(query: string): AsyncIterable<readonly Row[]>;
}

/** A transaction that fills tables. */
export interface Load {
  /** Writes rows in the text format of COPY. Returns how many. */
  copyIn(table: TableShape, rows: Readable): Promise<number>;
  run(statement: string, values?: readonly string[]): Promise<readonly Record<string, unknown>[]>;
}

const connectSeconds = 10;
const batchRows = 1_000;

/** Rows are read and written for as long as it takes; only locks are not waited for. */
const transactionLimits =
  "set local statement_timeout = 0; set local idle_in_transaction_session_timeout = 0; set local lock_timeout = '10s'";

interface Work<T, Context> {
  readonly url: string;
  /** Ends the session at once. */
  readonly signal: AbortSignal;
  readonly run: (context: Context) => Promise<T>;
}

async function withTransaction<T>(
  { url, signal, run }: Work<T, postgres.TransactionSql>,
  mode: string,
): Promise<T> {
  const { target, login } = readAddress({ url, applicationName: "atelier copy", isPooled: false });
  const sockets: Socket[] = [];
  // `socket` is an option of the driver that its types lack; it keeps both drivers on one reading of addresses.
  const options = {
    ...login,
    max: 1,
    connect_timeout: connectSeconds,
    max_lifetime: null,
    fetch_types: false,
    prepare: false,
    types: wireTypes,
    onnotice: () => undefined,
    socket: () => {
      const socket = connect({ ...target, noDelay: true, keepAlive: true });
      sockets.push(socket);
      return socket;
    },
  };
  const client = postgres(options);
  // The driver alone would wait for a server that waits for a lock.
  const stop = () => void client.end({ timeout: 0 }).then(() => sockets.forEach((each) => each.destroy()));
  signal.addEventListener("abort", stop);
  try {
    signal.throwIfAborted();
    const result = await client.begin(mode, async (sql) => {
      await sql.unsafe(transactionLimits);
      return run(sql);
    });
    // Safe: only an array would be changed by the driver, and no caller returns one.
    return result as T;
  } catch (error) {
    signal.throwIfAborted();
    throw error;
  } finally {
    signal.removeEventListener("abort", stop);
    await client.end({ timeout: connectSeconds });
  }
}

/** Reads from one moment of the database, however long it takes, beside those who write. */
export function withSnapshot<T>({ url, signal, run }: Work<T, Snapshot>): Promise<T> {
  const read = async (sql: postgres.TransactionSql) => {
    const tables = await readTables(sql);
    return run({
      tables,
      copyOut: (table) => sql.unsafe(`copy ${targetOf(table)} to stdout`).readable(),
      read: (query) => sql.unsafe(query) as Promise<never>,
      batches: (query) => sql.unsafe(query).cursor(batchRows) as AsyncIterable<never>,
    });
  };
  return withTransaction({ url, signal, run: read }, "isolation level repeatable read read only");
}

/** Fills tables in one transaction: all of it is there after it, or nothing. */
export function withLoad<T>({ url, signal, run }: Work<T, Load>): Promise<T> {
  const load = async (sql: postgres.TransactionSql) => {
    // Triggers that write further rows know by it that these are among those that come.
    await sql.unsafe("set local atelier.is_loading = 'on'");
    return run({
      async copyIn(table, rows) {
        const query = sql.unsafe(`copy ${targetOf(table)} from stdin`);
        await pipeline(rows, await query.writable(), { signal });
        const [counted] = await sql.unsafe(`select count(*) as count from ${quoted(table.name)}`);
        return Number(counted?.["count"]);
      },
      run: (statement, values = []) => sql.unsafe(statement, [...values]),
    });
  };
  return withTransaction({ url, signal, run: load }, "");
}

function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

function targetOf({ name, columns }: TableShape): string {
  return `public.${quoted(name)} (${columns.map(quoted).join(", ")})`;
}

interface FoundTable extends TableShape {
  readonly parents: readonly string[];
}

async function readTables(sql: postgres.TransactionSql): Promise<TableShape[]> {
  const known = Object.values(schema).flatMap((each) =>
    is(each, PgTable) ? [String(getTableName(each))] : [],
  );
  const found = await sql.unsafe<FoundTable[]>(`
    select t.relname::text as name,
      (select json_agg(a.attname order by a.attnum) from pg_attribute a
        where a.attrelid = t.oid and a.attnum > 0 and not a.attisdropped and a.attgenerated = '') as columns,
      (select coalesce(json_agg(p.relname), '[]') from pg_constraint c join pg_class p on p.oid = c.confrelid
        where c.conrelid = t.oid and c.contype = 'f' and p.oid <> t.oid) as parents
    from pg_class t join pg_namespace n on n.oid = t.relnamespace
    where n.nspname = 'public' and t.relkind = 'r' order by t.relname`);
  return parentsFirst(found.filter(({ name }) => known.includes(name)));
}

function parentsFirst(tables: readonly FoundTable[]): TableShape[] {
  const sorted: TableShape[] = [];
  const rest = new Set(tables);
  while (rest.size > 0) {
    const done = new Set(sorted.map(({ name }) => name));
    const ready = [...rest].filter(({ parents }) => parents.every((parent) => done.has(parent)));
    if (ready.length === 0) throw new Error("tables refer to each other in a ring");
    for (const table of ready) {
      sorted.push({ name: table.name, columns: table.columns });
      rest.delete(table);
    }
  }
  return sorted;
}
