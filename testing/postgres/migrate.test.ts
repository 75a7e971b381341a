import { randomUUID } from "node:crypto";
import { cp, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import {
  appliedMigrations,
  knownMigrations,
  migrate,
  migrateTo,
  openDatabase,
  schema,
  withSnapshot,
} from "@atelier/server/db";
import { drizzle } from "drizzle-orm/node-postgres";
import { migrate as applyMigrations } from "drizzle-orm/node-postgres/migrator";
import pg from "pg";
import { expect, test } from "vitest";
import { createEmptyDatabase, createTestDatabase } from "./servers.ts";

const migrations = path.join(import.meta.dirname, "../../drizzle/migrations");

test("A1 a migration that another process holds up ends with a plain sentence, and runs when it is free", async () => {
  const database = await createTestDatabase();
  const holder = new pg.Client({ connectionString: database.url });
  await holder.connect();
  await holder.query("select pg_advisory_lock(742001)");
  await expect(migrate(database.url, { waitMs: 1 })).rejects.toThrow(/Another process is bringing/);
  await holder.end();
  await migrate(database.url);
  await database.drop();
});

test("A3 a migration whose connection breaks while it waits its turn ends with the reason", async () => {
  const database = await createEmptyDatabase();
  const holder = new pg.Client({ connectionString: database.url });
  await holder.connect();
  await holder.query("select pg_advisory_lock(742001)");
  const ended = migrate(database.url).catch((error: unknown) => error);
  const cut =
    "select pg_terminate_backend(pid) from pg_stat_activity where query like '%pg_try_advisory_lock%'";
  const others = `${cut} and datname = current_database() and state = 'idle'`;
  await expect.poll(async () => (await holder.query(others)).rowCount).toBe(1);
  expect(await ended).toBeInstanceOf(Error);
  await holder.end();
  await migrate(database.url);
  await database.drop();
});

test("A1 A16 limits that an operator gave to all programs end no migration and no backup", async () => {
  const database = await createEmptyDatabase();
  const client = new pg.Client({ connectionString: database.url });
  await client.connect();
  const name = new URL(database.url).pathname.slice(1);
  await client.query(`alter database ${name} set statement_timeout = '250ms'`);
  await client.query(`alter database ${name} set transaction_timeout = '250ms'`);
  await client.end();
  await migrate(database.url);
  const rows = await withSnapshot({
    url: database.url,
    signal: new AbortController().signal,
    run: async (snapshot) => {
      await snapshot.read("select pg_sleep(0.3)");
      return snapshot.read("select pg_sleep(0.3)");
    },
  });
  expect(rows).toHaveLength(1);
  await database.drop();
});

test("A1 a role that only works with the tables starts where nothing is to be done, and is told what it may not", async () => {
  const [made, empty] = await Promise.all([createTestDatabase(), createEmptyDatabase()]);
  const role = `role_${randomUUID().replaceAll("-", "")}`;
  const client = new pg.Client({ connectionString: made.url });
  await client.connect();
  await client.query(`create role ${role} login password 'secret'`);
  await client.query(`grant usage on schema drizzle, bullmq to ${role}`);
  await client.query(`grant select on all tables in schema drizzle, bullmq to ${role}`);
  const [there, nothing] = [made, empty].map(({ url }) => {
    const own = new URL(url);
    [own.username, own.password] = [role, "secret"];
    return own.href;
  });
  await migrate(there ?? "");
  await expect(migrate(nothing ?? "")).rejects.toThrow(
    /\(permission denied for database .*GRANT CREATE ON DATABASE/,
  );
  await client.query("delete from drizzle.functions");
  await expect(migrate(there ?? "")).rejects.toThrow(/permission denied .*DATABASE_DIRECT_URL/);
  await client.query(`drop owned by ${role}; drop role ${role}`);
  await client.end();
  await Promise.all([made.drop(), empty.drop()]);
});

test("A3 a migration waits for a table only so long that others still use it, and runs when it is free", async () => {
  const database = await createEmptyDatabase();
  const known = knownMigrations();
  // The next one changes the table of the users.
  await migrateTo(database.url, known[63] ?? 0);
  const dump = new pg.Client({ connectionString: database.url });
  const user = new pg.Client({ connectionString: database.url });
  await Promise.all([dump.connect(), user.connect()]);
  await user.query("set statement_timeout = '10s'");
  await dump.query("begin; lock table users in access share mode");
  await expect(migrate(database.url, { waitMs: 1 })).rejects.toThrow(/such as a dump/);
  const migrated = migrate(database.url);
  const isWaiting = async () =>
    (await user.query("select from pg_locks where not granted and relation = 'users'::regclass")).rowCount;
  await expect.poll(isWaiting).toBe(1);
  await user.query("select from users");
  await dump.query("commit");
  await migrated;
  expect(await appliedMigrations(database.url)).toEqual(known);
  await Promise.all([dump.end(), user.end()]);
  await database.drop();
});

test.each([
  "drizzle.functions in access exclusive mode",
  "drizzle.functions in share mode",
  "bullmq.migration",
])("A3 the functions and the queue wait for their tables only so long, too (%s)", async (locked) => {
  const database = await createTestDatabase();
  await migrate(database.url);
  const dump = new pg.Client({ connectionString: database.url });
  await dump.connect();
  // As before a version with other functions.
  await dump.query("update drizzle.functions set sha256 = 'of before'");
  await dump.query(`begin; lock table ${locked}`);
  await expect(migrate(database.url, { waitMs: 1 })).rejects.toThrow(/such as a dump/);
  await dump.query("commit");
  await migrate(database.url);
  await dump.end();
  await database.drop();
});

test("A1 a database of another encoding is refused before anything is made in it, with what to do", async () => {
  const database = await createEmptyDatabase();
  const client = new pg.Client({ connectionString: database.url });
  await client.connect();
  for (const encoding of ["SQL_ASCII", "LATIN1"]) {
    const name = `test_${randomUUID().replaceAll("-", "")}`;
    await client.query(`create database ${name} encoding '${encoding}' locale 'C' template template0`);
    const url = new URL(database.url);
    url.pathname = `/${name}`;
    await expect(migrate(url.href)).rejects.toThrow(`has the encoding ${encoding}`);
    expect(await appliedMigrations(url.href)).toEqual([]);
    await client.query(`drop database ${name} with (force)`);
  }
  await client.end();
  await database.drop();
});

test.each(["", " ", "\t"])(
  "A16 an address whose search path is the empty text finds the schema of the studio (%j)",
  async (searchPath) => {
    const database = await createEmptyDatabase();
    const url = new URL(database.url);
    url.searchParams.set("options", `-c search_path=${searchPath.replaceAll(/\s/g, String.raw`\$&`)}`);
    await migrate(url.href);
    const opened = openDatabase({ url: url.href, applicationName: "test" });
    expect(await opened.db.select().from(schema.users)).toEqual([]);
    await opened.close();
    await database.drop();
  },
);

test.each([`"$user", public`, `"$user"`, `''`])(
  "A16 a role that has a schema of its own uses the one schema of the studio, and its backup has the rows (search path %s)",
  async (searchPath) => {
    const database = await createEmptyDatabase();
    const client = new pg.Client({ connectionString: database.url });
    await client.connect();
    const role = `role_${randomUUID().replaceAll("-", "")}`;
    const name = new URL(database.url).pathname.slice(1);
    await client.query(`create role ${role} login password 'secret'; grant ${role} to current_user`);
    await client.query(
      `create schema ${role} authorization ${role}; grant create on schema public to ${role}`,
    );
    await client.query(
      `grant create on database ${name} to ${role}; alter role ${role} set search_path = ${searchPath}`,
    );
    const url = new URL(database.url);
    [url.username, url.password] = [role, "secret"];
    await migrate(url.href);
    const opened = openDatabase({ url: url.href, applicationName: "test" });
    await opened.db.insert(schema.users).values({ id: "one", name: "One", email: "one@example.test" });
    const tables = await withSnapshot({
      url: url.href,
      signal: new AbortController().signal,
      run: async (snapshot) => [
        snapshot.tables.length,
        await snapshot.read("select id from users where id = 'one'"),
      ],
    });
    expect(tables).toEqual([expect.any(Number), [{ id: "one" }]]);
    expect(tables[0]).toBeGreaterThan(30);
    await opened.close();
    await client.end();
    await database.drop();
  },
);

async function dropSchemas(client: pg.Client): Promise<void> {
  const { rows } = await client.query<{ name: string }>(
    "select nspname as name from pg_namespace where nspname !~ '^pg_' and nspname <> 'information_schema'",
  );
  for (const { name } of rows) await client.query(`drop schema ${client.escapeIdentifier(name)} cascade`);
  await client.query("create schema public");
}

/** Brings an empty database to the schema of an earlier version: all migrations up to `lastTag`. */
async function migrateUpTo(client: pg.Client, lastTag: string): Promise<void> {
  const folder = await mkdtemp(path.join(os.tmpdir(), "atelier-migrations-"));
  try {
    await cp(migrations, folder, { recursive: true });
    const journalPath = path.join(folder, "meta/_journal.json");
    const journal = JSON.parse(await readFile(journalPath, "utf8")) as { entries: { tag: string }[] };
    const last = journal.entries.findIndex(({ tag }) => tag === lastTag);
    expect(last).toBeGreaterThanOrEqual(0);
    await writeFile(journalPath, JSON.stringify({ ...journal, entries: journal.entries.slice(0, last + 1) }));
    await applyMigrations(drizzle(client), { migrationsFolder: folder });
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

test("an install of an earlier version keeps its service account, and rows that break the bounds are cut", async () => {
  const database = await createTestDatabase();
  const client = new pg.Client({ connectionString: database.url });
  await client.connect();
  await dropSchemas(client);
  await migrateUpTo(client, "0003_needs");
  const insert = "insert into users (id, name, email, role, image, ban_reason, created_at) values ";
  await client.query(`${insert}
    ('person', repeat('ü', 5000), 'person@example.com', 'user', 'https://elsewhere.example/a.png', repeat('b', 5000), now()),
    ('endless', 'Endless', repeat('e', 300) || '@example.com', 'user', null, null, now()),
    ('twin', 'Twin', 'workers-twin@example.com', 'service', null, null, now() - interval '2 days'),
    ('service', 'Workers', 'workers@atelier.invalid', 'service', null, null, now() - interval '1 day')`);
  await client.query(
    "insert into api_keys (id, name, key, reference_id) values ('key', repeat('k', 500), 'hash', 'person')",
  );
  await migrate(database.url);
  const { rows } = await client.query(
    "select id, char_length(name) as name, email, role, image from users order by id",
  );
  expect(rows).toEqual([
    { id: "endless", name: 7, email: "too-long-endless@atelier.invalid", role: "user", image: null },
    { id: "person", name: 100, email: "person@example.com", role: "user", image: null },
    { id: "service", name: 7, email: "workers@atelier.invalid", role: "service", image: null },
    { id: "twin", name: 4, email: "workers-twin@example.com", role: "user", image: null },
  ]);
  const keys = await client.query("select char_length(name) as name from api_keys");
  expect(keys.rows).toEqual([{ name: 100 }]);
  await client.end();
  await database.drop();
});

test("an account of a person that holds the address of the workers' account gets no role by the migration", async () => {
  const database = await createTestDatabase();
  const client = new pg.Client({ connectionString: database.url });
  await client.connect();
  await dropSchemas(client);
  await migrateUpTo(client, "0003_needs");
  await client.query(
    "insert into users (id, name, email, role) values ('squatter', 'Sly', 'workers@atelier.invalid', 'user')",
  );
  await migrate(database.url);
  const { rows } = await client.query("select id, email, role from users");
  expect(rows).toEqual([{ id: "squatter", email: "workers@atelier.invalid", role: "user" }]);
  await client.end();
  await database.drop();
});

test("of ways in that are stored twice the one used last stays, and ended questions keep no words they were given", async () => {
  const database = await createTestDatabase();
  const client = new pg.Client({ connectionString: database.url });
  await client.connect();
  await dropSchemas(client);
  await migrateUpTo(client, "0059_key_caps");
  await client.query(
    `insert into users (id, name, email) values ('u1', 'U', 'u1@example.com'), ('u2', 'U', 'u2@example.com')`,
  );
  await client.query(`insert into credentials (id, provider_id, account_id, user_id, updated_at) values
    ('a', 'house', 'anna', 'u1', now() - interval '2 days'), ('b', 'house', 'anna', 'u2', now() - interval '1 day'),
    ('c', 'credential', 'u1', 'u1', now()), ('d', 'credential', 'u1', 'u1', now() - interval '1 day'),
    ('f', 'house', 'tied', 'u1', 'yesterday'), ('e', 'house', 'tied', 'u1', 'yesterday'), ('g', 'other', 'anna', 'u1', now())`);
  const given = `'{"instructions": "I", "messages": [{"role": "user", "content": "W"}], "used": [{"title": "T"}]}'`;
  // Without the checks of references.
  await client.query("set session_replication_role = replica");
  await client.query(`insert into assistant_runs (id, owner_id, conversation_id, question_id, status, context) select
    gen_random_uuid(), 'u1', gen_random_uuid(), gen_random_uuid(), status, context::jsonb
    from (values ('failed', ${given}), ('ready', ${given}), ('completed', null)) runs (status, context)`);
  await client.query("set session_replication_role = default");
  await applyMigrations(drizzle(client), { migrationsFolder: migrations });
  const { rows: runs } = await client.query("select status, context from assistant_runs order by status");
  const used = [{ title: "T" }];
  expect(runs).toEqual([
    { status: "completed", context: null },
    { status: "failed", context: { instructions: "", messages: [], used } },
    { status: "ready", context: { instructions: "I", messages: [{ role: "user", content: "W" }], used } },
  ]);
  const { rows } = await client.query("select id from credentials order by id");
  expect(rows.map(({ id }) => id)).toEqual(["b", "c", "e", "g"]);
  const double =
    "insert into credentials (id, provider_id, account_id, user_id) values ('h', 'house', 'anna', 'u1')";
  await expect(client.query(double)).rejects.toMatchObject({ code: "23505" });
  await client.end();
  await database.drop();
});

test("F19 a database without a limit for idle transactions gets one from its owner, keeps its own, and works without", async () => {
  const own = (limit: string) => (client: pg.Client, database: string) =>
    client.query(`alter database ${database} set idle_in_transaction_session_timeout = '${limit}'`);
  const role = `role_${randomUUID().replaceAll("-", "")}`;
  // A role that may write to the database, but does not own it.
  const other = async (client: pg.Client, database: string) => {
    await client.query(`create role ${role} login`);
    await client.query(`grant create on database ${database} to ${role}`);
    await client.query(`grant create on schema public to ${role}`);
  };
  expect(await limitsAfter({ set: async () => undefined })).toEqual([
    "idle_in_transaction_session_timeout=60s",
  ]);
  expect(await limitsAfter({ set: own("10min") })).toEqual(["idle_in_transaction_session_timeout=10min"]);
  expect(await limitsAfter({ set: own("0") })).toEqual(["idle_in_transaction_session_timeout=0"]);
  expect(await limitsAfter({ set: other, role })).toEqual([]);
});

interface Before {
  /** Prepares the empty database. */
  readonly set: (client: pg.Client, database: string) => Promise<unknown>;
  /** Who migrates; its owner by default. */
  readonly role?: string;
}

/** The settings of a database after its migrations, on a server whose own limit is switched off for the migration. */
async function limitsAfter({ set, role }: Before): Promise<readonly string[]> {
  const database = await createEmptyDatabase();
  const client = new pg.Client({ connectionString: database.url });
  await client.connect();
  await set(client, new URL(database.url).pathname.slice(1));
  const address = new URL(database.url);
  const options = ["idle_in_transaction_session_timeout=0", ...(role ? [`role=${role}`] : [])];
  address.searchParams.set("options", options.map((option) => `-c ${option}`).join(" "));
  await migrate(address.href);
  const { rows } = await client.query(
    "select unnest(setconfig) as setting from pg_db_role_setting s join pg_database d on d.oid = s.setdatabase where d.datname = current_database()",
  );
  if (role) {
    await client.query(`drop owned by ${role}`);
    await client.query(`drop role ${role}`);
  }
  await client.end();
  await database.drop();
  return rows.map(({ setting }) => setting);
}
