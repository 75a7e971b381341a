import type { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { getTableName, is } from "drizzle-orm";
import { PgTable } from "drizzle-orm/pg-core";
import pg from "pg";
import { from as copyFrom, to as copyTo } from "pg-copy-streams";
import * as schema from "./schema/index.ts";
import { liftLimits } from "./session.ts";

/** A table of our own as it is in a database, which may be older than this version. */
export interface TableShape {
  readonly name: string;
  readonly columns: readonly string[];
}

/** Everything that was committed at one moment. */
export interface Snapshot {
  /** Tables that others refer to come first. */
  readonly tables: readonly TableShape[];
  /** Gives the rows of a table in PostgreSQL's text format of COPY to `write`, which reads them to the end. Returns how many. */
  copyOut<T>(
    table: TableShape,
    write: (rows: Readable) => Promise<T>,
  ): Promise<{ readonly written: T; readonly rows: number }>;
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

const connectMs = 10_000;
const batchRows = 1_000;

/** A session whose program does nothing with its transaction ends after this long: it would hold back every vacuum. */
const idleMs = 15 * 60_000;

/** Values are written so that any other database reads the same, as `pg_dump` does. */
const transactionForms =
  "set local search_path = public; set local datestyle = 'ISO'; set local timezone = 'UTC'; set local intervalstyle = 'postgres'; set local extra_float_digits = 1";

/** Rows are read and written for as long as it takes; only locks are not waited for. */
const transactionLimits = `${liftLimits(true)}; set local idle_in_transaction_session_timeout = ${idleMs}; set local lock_timeout = '10s'`;

interface Work<T, Context> {
  readonly url: string;
  /** Ends the session at once. */
  readonly signal: AbortSignal;
  readonly run: (context: Context) => Promise<T>;
}

/**
 * Uses `pg` and not the driver of the pool, whose COPY leaves the socket paused when the last rows fill a buffer: the
 * answer to the next statement is then never read.
 */
async function withTransaction<T>({ url, signal, run }: Work<T, pg.Client>, mode: string): Promise<T> {
  const client = new pg.Client({
    connectionString: url,
    application_name: "atelier copy",
    connectionTimeoutMillis: connectMs,
    keepAlive: true,
  });
  // Without a listener a lost connection would end the process; the statement under way fails with it.
  client.on("error", () => undefined);
  const stop = () => endAtOnce(client);
  signal.addEventListener("abort", stop);
  try {
    signal.throwIfAborted();
    await client.connect();
    await client.query(`begin ${mode}; ${transactionForms}; ${transactionLimits}`);
    const result = await run(client);
    await client.query("commit");
    await client.end();
    return result;
  } catch (error) {
    // The server rolls back the transaction of a session that has ended.
    endAtOnce(client);
    signal.throwIfAborted();
    throw error;
  } finally {
    signal.removeEventListener("abort", stop);
  }
}

/** A server that waits for a lock would not read that the session ends. */
function endAtOnce(client: pg.Client): void {
  client.end().catch(() => undefined);
  // Safe: the property is documented; the types of the driver lack it.
  (client as unknown as { connection: { stream: { destroy(): void } } }).connection.stream.destroy();
}

/** Reads from one moment of the database, however long it takes, beside those who write. */
export function withSnapshot<T>({ url, signal, run }: Work<T, Snapshot>): Promise<T> {
  const read = async (client: pg.Client) => {
    const tables = await readTables(client);
    return run({
      tables,
      async copyOut(table, write) {
        const rows = client.query(copyTo(`copy ${targetOf(table)} to stdout`));
        const written = await write(rows);
        // The count arrives behind the last row; the answer to a further statement arrives behind the count.
        await client.query("select");
        return { written, rows: rows.rowCount };
      },
      read: async (query) => (await client.query(query)).rows,
      batches: (query) => readBatches(client, query),
    });
  };
  return withTransaction({ url, signal, run: read }, "isolation level repeatable read read only");
}

async function* readBatches<Row extends object>(
  client: pg.Client,
  query: string,
): AsyncGenerator<readonly Row[]> {
  await client.query(`declare batches no scroll cursor for ${query}`);
  for (;;) {
    const { rows } = await client.query(`fetch ${batchRows} from batches`);
    if (rows.length === 0) break;
    yield rows;
  }
  await client.query("close batches");
}

/** Fills tables in one transaction: all of it is there after it, or nothing. */
export function withLoad<T>({ url, signal, run }: Work<T, Load>): Promise<T> {
  const load = async (client: pg.Client) => {
    // Triggers that write further rows know by it that these are among those that come.
    await client.query("set local atelier.is_loading = 'on'");
    return run({
      async copyIn(table, rows) {
        const target = client.query(copyFrom(`copy ${targetOf(table)} from stdin`));
        await pipeline(rows, target, { signal });
        return target.rowCount;
      },
      run: async (statement, values = []) => (await client.query(statement, [...values])).rows,
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

async function readTables(client: pg.Client): Promise<TableShape[]> {
  const known = Object.values(schema).flatMap((each) =>
    is(each, PgTable) ? [String(getTableName(each))] : [],
  );
  const { rows: found } = await client.query<FoundTable>(`
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
