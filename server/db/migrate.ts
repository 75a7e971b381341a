import { createHash } from "node:crypto";
import { copyFile, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { assertSchemaCompatibility, LATEST_SCHEMA_VERSION, runMigrations } from "bullmq";
import { readMigrationFiles } from "drizzle-orm/migrator";
import { drizzle } from "drizzle-orm/node-postgres";
import { migrate as applyMigrations } from "drizzle-orm/node-postgres/migrator";
import pg from "pg";
import functionsVersion from "./functions/version.json" with { type: "json" };
import { findTables, liftLimits } from "./session.ts";

// Resolved on call: in the bundle of the web process, which never migrates, the folder does not exist.
const migrationsFolder = () =>
  path.join(/* turbopackIgnore: true */ import.meta.dirname, "../../drizzle/migrations");
const functionsFolder = () => path.join(/* turbopackIgnore: true */ import.meta.dirname, "functions");
const migrationLock = 742_001;

/**
 * How long one try waits for the lock of a table. What waits for it stops everybody who comes later, so that a dump or an
 * idle transaction would stop the whole studio.
 */
const tableLockMs = 2_000;
const tableRetryMs = 3_000;
/** The state of PostgreSQL for a lock that did not come in time. */
const lockNotAvailable = "55P03";

/** How long to wait for another process that migrates; a first start on a slow disk takes seconds. */
const lockWaitMs = 60_000;
const lockRetryMs = 250;

/**
 * Brings a database to the current schema, ours and that of the queue. Safe to run from several processes at once.
 * Needs a direct connection: a pooler in transaction mode would take the lock in another session.
 * Throws when another process holds the lock, or a table, for longer than `waitMs`.
 */
export async function migrate(databaseUrl: string, { waitMs = lockWaitMs } = {}): Promise<void> {
  await withClient(databaseUrl, async (client) => {
    await takeLock(client, waitMs);
    await requireEncoding(client);
    const functions = { ...(await readFunctions()), version: functionsVersion.version };
    await inTurns(client, waitMs, async () => {
      if (await isUpToDate(client, functions)) return;
      await applyMigrations(drizzle(client), { migrationsFolder: migrationsFolder() });
      await replaceFunctions(client, functions);
      await runMigrations(client);
    });
  });
}

/** Other encodings cannot store the letters of all prompts, and the search normalizes none of them. */
async function requireEncoding(client: pg.Client): Promise<void> {
  const { rows } = await client.query(
    `select pg_encoding_to_char(encoding) as encoding, to_regclass('drizzle.__drizzle_migrations') is null as "isNew"
     from pg_database where datname = current_database()`,
  );
  const { encoding, isNew } = rows[0];
  if (isNew && encoding !== "UTF8")
    throw new Error(
      `The database has the encoding ${encoding}. Make it again: CREATE DATABASE … ENCODING 'UTF8' TEMPLATE template0.`,
    );
}

/**
 * Whether there is nothing to do. The migrators ask for rights that a role may lack which only works with the tables, even where all is
 * made: `create schema if not exists` needs the right to create in the database.
 */
async function isUpToDate(client: pg.Client, { version, sha256 }: SqlFunctions): Promise<boolean> {
  try {
    const { rows } = await client.query(
      `select (select max(created_at) from drizzle.__drizzle_migrations) >= $1 and exists (
        select from drizzle.functions where version > $2 or (version = $2 and sha256 = $3)) as "isMade"`,
      [Math.max(...knownMigrations()), version, sha256],
    );
    return rows[0].isMade === true && (await assertSchemaCompatibility(client)) >= LATEST_SCHEMA_VERSION;
  } catch (error) {
    if (error instanceof pg.DatabaseError && error.code === lockNotAvailable) throw error;
    // Not made yet, or this role may not look.
    return false;
  }
}

/** The state of PostgreSQL for a right that a role lacks. */
const mayNot = "42501";

const refused = (cause: pg.DatabaseError) =>
  new Error(
    `The role of the database address may not bring it up to date (${cause.message}). Let it create in the database (GRANT CREATE ON DATABASE … TO …), or name the role that owns the tables in DATABASE_DIRECT_URL.`,
    { cause },
  );

/** Tries the work again until it gets its locks; between the tries others can use the tables. */
async function inTurns(client: pg.Client, waitMs: number, work: () => Promise<void>): Promise<void> {
  const endMs = performance.now() + waitMs;
  await client.query(`set lock_timeout = ${tableLockMs}`);
  for (;;) {
    try {
      return await work();
    } catch (error) {
      const cause = error instanceof Error && error.cause !== undefined ? error.cause : error;
      if (!(cause instanceof pg.DatabaseError)) throw error;
      if (cause.code === mayNot) throw refused(cause);
      if (cause.code !== lockNotAvailable) throw cause;
      if (performance.now() > endMs)
        throw new Error(
          "Another session uses the tables and does not end, such as a dump (pg_dump). Wait for it, or end it in the database, and start again.",
          { cause: error },
        );
    }
    await sleep(tableRetryMs);
  }
}

async function withClient<T>(databaseUrl: string, work: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client({ connectionString: databaseUrl, connectionTimeoutMillis: 10_000 });
  // A connection that breaks between two statements, as while this waits its turn, shows as the failure of the next one.
  client.on("error", () => undefined);
  await client.connect();
  try {
    await client.query(liftLimits(false));
    await client.query(findTables);
    return await work(client);
  } finally {
    // Behind a pooler the session goes on to somebody else.
    await client.query("reset all").catch(() => undefined);
    await client.end();
  }
}

/** The SQL functions of one version of the product. */
export interface SqlFunctions {
  /** Rises with each change of the files. */
  readonly version: number;
  readonly sha256: string;
  /** All of them as statements. */
  readonly text: string;
}

/** The files of `functions/`, which hold the one current body of each function. */
export async function readFunctions(): Promise<Omit<SqlFunctions, "version">> {
  const folder = functionsFolder();
  // Else the build of the pages, which never read the files, would put the whole project beside them.
  const names = (await readdir(/* turbopackIgnore: true */ folder))
    .filter((name) => name.endsWith(".sql"))
    .toSorted();
  const files = await Promise.all(
    names.map((name) => readFile(/* turbopackIgnore: true */ path.join(folder, name), "utf8")),
  );
  const text = files.join("\n");
  return { text, sha256: createHash("sha256").update(text).digest("hex") };
}

/**
 * Gives a database these functions in one transaction, unless it has them. Functions of a later version stay: a process
 * that is started again during a deployment, or after going back, must not take them from the processes of that version.
 */
export async function replaceFunctions(
  client: pg.Client,
  { version, sha256, text }: SqlFunctions,
): Promise<void> {
  await client.query(`create table if not exists drizzle.functions (
    version int primary key, sha256 text not null, applied_at timestamptz not null default clock_timestamp())`);
  const { rows: known } = await client.query(
    "select from drizzle.functions where version > $1 or (version = $1 and sha256 = $2)",
    [version, sha256],
  );
  if (known.length > 0) return;
  await client.query("begin");
  try {
    // The files name functions of each other; a test creates them with the check.
    await client.query(`set local check_function_bodies = off; ${text}`);
    await client.query(
      `insert into drizzle.functions (version, sha256) values ($1, $2)
       on conflict (version) do update set sha256 = excluded.sha256, applied_at = excluded.applied_at`,
      [version, sha256],
    );
    await client.query("commit");
  } catch (error) {
    await client.query("rollback");
    throw error;
  }
}

/** The migrations that this version knows, the oldest first, each by the time of its making. */
export function knownMigrations(): number[] {
  return readMigrationFiles({ migrationsFolder: migrationsFolder() }).map(({ folderMillis }) => folderMillis);
}

/** The same of those that a database has; empty for a database that was never used. */
export function appliedMigrations(databaseUrl: string): Promise<number[]> {
  return withClient(databaseUrl, async (client) => {
    const { rows: found } = await client.query("select to_regclass('drizzle.__drizzle_migrations') as known");
    if (found[0]?.known === null) return [];
    const { rows } = await client.query(
      "select created_at from drizzle.__drizzle_migrations order by created_at",
    );
    return rows.map(({ created_at }) => Number(created_at));
  });
}

/** Brings a database to the schema of an older version, for its rows. Adds nothing when it is there already or newer. */
export async function migrateTo(databaseUrl: string, last: number): Promise<void> {
  const folder = await mkdtemp(path.join(os.tmpdir(), "atelier-migrations-"));
  try {
    await copyMigrations(folder, last);
    await withClient(databaseUrl, async (client) => {
      await takeLock(client, lockWaitMs);
      await applyMigrations(drizzle(client), { migrationsFolder: folder });
    });
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

interface Journal {
  readonly entries: readonly { readonly when: number; readonly tag: string }[];
}

/** The migrator applies all that a folder lists, so the list of this folder ends earlier. */
async function copyMigrations(folder: string, last: number): Promise<void> {
  const from = migrationsFolder();
  const journal: Journal = JSON.parse(await readFile(path.join(from, "meta/_journal.json"), "utf8"));
  const entries = journal.entries.filter(({ when }) => when <= last);
  await mkdir(path.join(folder, "meta"));
  await writeFile(path.join(folder, "meta/_journal.json"), JSON.stringify({ ...journal, entries }));
  for (const { tag } of entries)
    await copyFile(path.join(from, `${tag}.sql`), path.join(folder, `${tag}.sql`));
}

/** Polls: a waiting statement would block concurrent index builds. */
async function takeLock(client: pg.Client, waitMs: number): Promise<void> {
  const endMs = performance.now() + waitMs;
  for (;;) {
    const { rows } = await client.query("select pg_try_advisory_lock($1) as taken", [migrationLock]);
    if (rows[0]?.taken) return;
    if (performance.now() > endMs)
      throw new Error(
        "Another process is bringing the database up to date and does not end. Stop it, or end its session in the database, and start again.",
      );
    await sleep(lockRetryMs);
  }
}
