import pg from "pg";
import { afterEach, expect, test } from "vitest";
import {
  claimedStatuses,
  findSchemaMismatch,
  finalStatuses,
  knownMigrations,
  migrate,
  migrateTo,
  openDatabase,
  openStatuses,
  waitingStatuses,
} from "@atelier/server/db";
import current from "../../server/db/functions/version.json" with { type: "json" };
import { readFunctions, replaceFunctions } from "../../server/db/migrate.ts";
import { createEmptyDatabase, createTestDatabase, type TestDatabase } from "./servers.ts";

let database: TestDatabase;
let client: pg.Client;

async function open(made: Promise<TestDatabase>): Promise<void> {
  database = await made;
  client = new pg.Client({ connectionString: database.url });
  await client.connect();
}

afterEach(async () => {
  await client.end();
  await database.drop();
});

test("a change of the functions has a version of its own", async () => {
  await open(createEmptyDatabase());
  const { sha256 } = await readFunctions();
  const wanted = `version ${current.version + 1} with the SHA-256 ${sha256}`;
  expect(current.sha256 === sha256 ? null : `functions/version.json needs ${wanted}`).toBeNull();
});

const byCode = (one = "", other = "") => (one < other ? -1 : 1);

/** Their results are stored with rows: another body needs a migration that stores the rows again. */
const stored = ["recall_form", "recall_parts", "recall_terms", "recall_words"];

test("each function of the database has its one current body in functions/", async () => {
  await open(createTestDatabase());
  const { rows } = await client.query<{ name: string }>(
    `select proname as name from pg_proc p where pronamespace = 'public'::regnamespace
      and not exists (select from pg_depend d where d.objid = p.oid and d.deptype = 'e') order by proname collate "C"`,
  );
  const { text } = await readFunctions();
  const written = [...text.matchAll(/^create or replace function (\w+)\(/gm)].map(([, name]) => name);
  expect(rows.map(({ name }) => name)).toEqual([...written, ...stored].toSorted(byCode));
  // Each body is valid beside all others.
  await client.query(text);
});

test("A11 a list of statuses in the functions is one of those that the schema names", async () => {
  await open(createEmptyDatabase());
  const { text } = await readFunctions();
  const lists = [...text.matchAll(/\bstatus in \(([^)]*)\)/g)].map(([, list]) => list);
  const named = [waitingStatuses, claimedStatuses, openStatuses, finalStatuses].map((statuses) =>
    statuses.map((status) => `'${status}'`).join(", "),
  );
  expect(lists).not.toEqual([]);
  expect(lists.filter((list = "") => !named.includes(list))).toEqual([]);
});

test("no function that catches errors is told to be safe in parallel plans, which let nobody do that before PostgreSQL 17", async () => {
  await open(createTestDatabase());
  const { rows: wrong } = await client.query(
    `select proname as name from pg_proc p where pronamespace = 'public'::regnamespace
       and prosrc ~* '\\mexception\\s+when\\M' and proparallel <> 'u'
       and not exists (select from pg_depend d where d.objid = p.oid and d.deptype = 'e')`,
  );
  expect(wrong).toEqual([]);
});

test("A16 what columns and indexes compute is the same where a dump is restored, with an empty search path", async () => {
  await open(createTestDatabase());
  const { rows: unsafe } = await client.query(
    `select distinct p.proname as name from pg_depend d join pg_proc p on p.oid = d.refobjid
     where d.refclassid = 'pg_proc'::regclass and p.pronamespace = 'public'::regnamespace
       and d.classid in ('pg_attrdef'::regclass, 'pg_constraint'::regclass, 'pg_class'::regclass)
       and not exists (select from unnest(p.proconfig) one where one like 'search_path=%')
       and not exists (select from pg_depend e where e.objid = p.oid and e.deptype = 'e')`,
  );
  expect(unsafe).toEqual([]);
  const read = async () =>
    (await client.query(`select public.recall_terms('owner', 'Die Straße über 東京', '{кот}') as terms`))
      .rows;
  const usual = await read();
  await client.query("select set_config('search_path', '', false)");
  expect(await read()).toEqual(usual);
});

const answering = (version: number, answer: number) => ({
  version,
  sha256: String(answer),
  text: `create or replace function answer() returns int language sql as 'select ${answer}'`,
});

async function answer(): Promise<unknown> {
  const { rows } = await client.query("select answer()");
  return rows[0]?.answer;
}

test("functions of a later version stay, those of this version are replaced when they differ, and faulty ones change nothing", async () => {
  await open(createTestDatabase());
  const { version } = current;
  await replaceFunctions(client, answering(version + 2, 2));
  await replaceFunctions(client, answering(version + 1, 1));
  expect(await answer()).toBe(2);
  await migrate(database.url);
  expect(await answer()).toBe(2);
  await replaceFunctions(client, answering(version + 2, 3));
  expect(await answer()).toBe(3);
  const faulty = answering(version + 3, 4);
  await expect(
    replaceFunctions(client, { ...faulty, text: `${faulty.text}; create function broken` }),
  ).rejects.toThrow(/syntax error/);
  await client.query("rollback");
  expect(await answer()).toBe(3);
  await replaceFunctions(client, faulty);
  expect(await answer()).toBe(4);
});

test("processes that start at once on an empty database give it the functions once", async () => {
  await open(createEmptyDatabase());
  await Promise.all(Array.from({ length: 4 }, () => migrate(database.url)));
  const { rows } = await client.query("select version, sha256 from drizzle.functions");
  expect(rows).toEqual([current]);
});

test("a database of a version that kept functions in migrations gets them, and pages wait for it", async () => {
  await open(createEmptyDatabase());
  const opened = openDatabase({ url: database.url, applicationName: "test", maxConnections: 1 });
  try {
    expect(await findSchemaMismatch(opened.db)).toMatch(/older than this web/);
    await migrateTo(database.url, knownMigrations().at(-1) ?? 0);
    expect(await findSchemaMismatch(opened.db)).toMatch(/older than this web/);
    await client.query(
      "create or replace function idle_slots(p_queue text, p_need text) returns int language sql as 'select 7'",
    );
    await migrate(database.url);
    expect(await findSchemaMismatch(opened.db)).toBeNull();
    const { rows } = await client.query("select idle_slots('cpu-light', 'local/upscale') as idle");
    expect(rows).toEqual([{ idle: 0 }]);
    await client.query("update drizzle.functions set version = version - 1");
    expect(await findSchemaMismatch(opened.db)).toMatch(/older than this web/);
  } finally {
    await opened.close();
  }
});
