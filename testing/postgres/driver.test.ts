import { type Database, isDatabaseAway, openDatabase } from "@atelier/server/db";
import { sql } from "drizzle-orm";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { createTestDatabase, type TestDatabase } from "./index.ts";

let database: TestDatabase;
/** Has one connection, so that all its statements share a session. */
let single: Database;
let several: Database;
const onError = vi.fn<(error: Error) => void>();

beforeAll(async () => {
  database = await createTestDatabase();
  single = openDatabase({ url: database.url, applicationName: "single", maxConnections: 1, onError });
  several = openDatabase({ url: database.url, applicationName: "several", maxConnections: 3 });
});
afterAll(async () => {
  await Promise.all([single.close(), several.close()]);
  await database.drop();
});

/** Ends all sessions of `single`, like a restart of the server. */
async function cutSingle(): Promise<number> {
  const cut = await several.db.execute(
    sql`select pg_terminate_backend(pid, 5000) from pg_stat_activity
      where application_name = 'single' and datname = current_database()`,
  );
  return cut.length;
}

const failureOf = (work: Promise<unknown>) => work.then(Object, (error: unknown) => error);

test("a statement with parameters is prepared once for each connection", async () => {
  const read = () => single.db.execute<{ n: number }>(sql`select ${7}::int + ${1}::int as n`);
  for (let turn = 0; turn < 3; turn += 1) expect(await read()).toEqual([{ n: 8 }]);
  const known = await single.db.execute<{ calls: number }>(
    sql`select (generic_plans + custom_plans)::int as calls from pg_prepared_statements
      where statement = 'select $1::int + $2::int as n'`,
  );
  expect(known).toEqual([{ calls: 3 }]);
});

test("A3 a session that was idle while the process was frozen is not used again", async () => {
  const pid = async () => (await single.db.execute(sql`select pg_backend_pid() as pid`))[0]?.["pid"];
  const before = await pid();
  expect(await pid()).toBe(before);
  const thawedAt = Date.now() + 60_000;
  const clock = vi.spyOn(Date, "now").mockReturnValue(thawedAt);
  expect(await pid()).not.toBe(before);
  clock.mockRestore();
});

test("no statement is prepared at an address that says so, for poolers without support for it", async () => {
  const plain = openDatabase({
    url: `${database.url}?prepare=false`,
    applicationName: "test",
    maxConnections: 1,
  });
  for (let turn = 0; turn < 2; turn += 1)
    expect(await plain.db.execute(sql`select ${turn}::int as n`)).toEqual([{ n: turn }]);
  expect(await plain.db.execute(sql`select 1 from pg_prepared_statements`)).toEqual([]);
  await plain.close();
});

test("values keep their types on their way to the database and back", async () => {
  const at = new Date("2026-01-02T03:04:05.678Z");
  const texts = ['with "quotes"', String.raw`back\slash`, "comma, brace }", "", "NULL", "two\nlines"];
  const ids = ["019b0000-0000-7000-8000-000000000001"];
  const [row] = await single.db.execute(sql`
    select ${sql.param(texts)}::text[] as texts, ${sql.param(ids)}::uuid[] as ids, ${sql.param([])}::text[] as none,
      array[1, null, 3] as numbers, array[true, false] as flags, ${at}::timestamptz at time zone 'UTC' as at,
      ${"false"}::boolean as flag, ${true} as yes, ${sql.param(undefined)}::text as nothing,
      ${{ a: ["b"] }}::jsonb as json, ${'{"c":1}'}::jsonb as parsed, ${9007199254740993n}::bigint as big, 1.50 as exact`);
  expect(row).toEqual({
    texts,
    ids,
    none: [],
    numbers: [1, null, 3],
    flags: [true, false],
    at: "2026-01-02 03:04:05.678",
    flag: false,
    yes: true,
    nothing: null,
    json: { a: ["b"] },
    parsed: { c: 1 },
    big: "9007199254740993",
    exact: "1.50",
  });
});

test("a statement runs while others of its process wait for a lock", async () => {
  await several.db.execute(sql`create table locked (n int)`);
  const waiting: Promise<unknown>[] = [];
  await several.db.transaction(async (tx) => {
    await tx.execute(sql`lock table locked`);
    waiting.push(failureOf(several.db.execute(sql`insert into locked values (${1})`)));
    const isWaiting = sql`select 1 from pg_locks where relation = 'locked'::regclass and not granted`;
    await expect.poll(() => several.db.execute(isWaiting)).toHaveLength(1);
  });
  expect(await Promise.all(waiting)).toEqual([[]]);
});

test("A3 a migration may add a column to a table whose rows are read by prepared statements", async () => {
  const { db } = single;
  await db.execute(sql`create table grows (n int)`);
  await db.execute(sql`insert into grows values (1)`);
  const readAll = sql`select * from grows where n = ${1}`;
  const attempts = vi.fn<() => void>();
  const readInTransaction = () =>
    db.transaction(async (tx) => {
      attempts();
      await tx.execute(sql`insert into grows values (2)`);
      return tx.execute(readAll);
    });
  expect(await db.execute(readAll)).toEqual([{ n: 1 }]);
  await several.db.execute(sql`alter table grows add column m int default 5`);
  expect(await db.execute(readAll)).toEqual([{ n: 1, m: 5 }]);
  await several.db.execute(sql`alter table grows add column o int default 6`);
  expect(await readInTransaction()).toEqual([{ n: 1, m: 5, o: 6 }]);
  expect(attempts).toHaveBeenCalledTimes(2);
  expect(await db.execute(sql`select 1 from grows where n = 2`)).toHaveLength(1);
});

test("a transaction is stored as a whole or not at all, and so is a part of it", async () => {
  const { db } = single;
  await db.execute(sql`create table kept (n int)`);
  const broken = db.transaction(async (tx) => {
    await tx.execute(sql`insert into kept values (1)`);
    throw new Error("no");
  });
  await expect(broken).rejects.toThrow("no");
  await db.transaction(async (tx) => {
    await tx.execute(sql`insert into kept values (2)`);
    const part = tx.transaction(async (inner) => {
      await inner.execute(sql`insert into kept values (3)`);
      await inner.execute(sql`insert into kept values (${"none"})`);
    });
    expect(await failureOf(part)).toMatchObject({ cause: { code: "22P02" } });
    await tx.execute(sql`insert into kept values (4)`);
  });
  expect(await db.execute(sql`select n from kept order by n`)).toEqual([{ n: 2 }, { n: 4 }]);
});

test("A3 a transaction whose connection is cut fails as a whole, and the next statement connects again", async () => {
  const { db } = single;
  await db.execute(sql`create table cut (n int)`);
  const late: unknown[] = [];
  const failure = await failureOf(
    db.transaction(async (tx) => {
      await tx.execute(sql`insert into cut values (1)`);
      expect(await cutSingle()).toBe(1);
      // A second statement must not run in a new session, outside of the transaction.
      for (const n of [2, 3]) late.push(await failureOf(tx.execute(sql`insert into cut values (${n})`)));
      throw late[0];
    }),
  );
  expect([failure, ...late].map(isDatabaseAway)).toEqual([true, true, true]);
  expect(await db.execute(sql`select n from cut`)).toEqual([]);
});

test("A3 a statement whose connection is cut fails, and the next one connects again", async () => {
  const running = failureOf(single.db.execute(sql`select pg_sleep(${20})`));
  const isRunning = sql`select 1 from pg_stat_activity where application_name = 'single' and state = 'active'`;
  await expect.poll(() => several.db.execute(isRunning)).toHaveLength(1);
  expect(await cutSingle()).toBe(1);
  expect(isDatabaseAway(await running)).toBe(true);
  expect(await single.db.execute(sql`select 1 as n`)).toEqual([{ n: 1 }]);
});

test("A3 an idle connection that is cut is reported and replaced", async () => {
  await single.db.execute(sql`select 1`);
  onError.mockClear();
  expect(await cutSingle()).toBe(1);
  await expect.poll(() => onError.mock.calls.length).toBe(1);
  expect(await single.db.execute(sql`select 1 as n`)).toEqual([{ n: 1 }]);
});

test("a wrong statement, also one that the driver cannot send, leaves the pool usable", async () => {
  const { db } = single;
  const circle: { self?: unknown } = {};
  circle.self = circle;
  const failures = [
    await failureOf(db.execute(sql`select ${"x"}::int`)),
    await failureOf(db.execute(sql`select ${circle}::jsonb`)),
  ];
  expect(failures.map(isDatabaseAway)).toEqual([false, false]);
  expect(await db.execute(sql`select 1 as n`)).toEqual([{ n: 1 }]);
});

test("closing waits for the work under way and refuses more", async () => {
  const own = openDatabase({ url: database.url, applicationName: "closing", maxConnections: 1 });
  const begun = Promise.withResolvers<void>();
  const done = Promise.withResolvers<void>();
  const work = own.db.transaction(async (tx) => {
    await tx.execute(sql`create table ended (n int)`);
    begun.resolve();
    await done.promise;
    return tx.execute(sql`select 1 as n`);
  });
  await begun.promise;
  const waiting = failureOf(own.db.execute(sql`select 1`));
  const closing = own.close();
  expect(isDatabaseAway(await waiting)).toBe(true);
  expect(isDatabaseAway(await failureOf(own.db.execute(sql`select 1`)))).toBe(true);
  done.resolve();
  expect(await work).toEqual([{ n: 1 }]);
  await closing;
  const left = sql`select 1 from pg_stat_activity where application_name = 'closing'`;
  await expect.poll(() => several.db.execute(left)).toEqual([]);
  expect(await several.db.execute(sql`select 1 from ended`)).toEqual([]);
});

test("a text that PostgreSQL cannot store is stored with a mark in its place, in every type", async () => {
  const odd = "a\0b \ud83d c";
  const mended = "a\ufffdb \ufffd c";
  const literal = String.raw`a \u0000 that was typed, \\ud83d`;
  const read = (value: unknown) =>
    single.db.execute(
      sql`select ${odd}::text as plain, ${odd}::varchar as short, ${JSON.stringify(value)}::jsonb as json`,
    );
  const value = { [odd]: [odd, { deep: literal, pair: "\u{1f600}" }] };
  expect(await read(value)).toEqual([
    { plain: mended, short: mended, json: { [mended]: [mended, { deep: literal, pair: "\u{1f600}" }] } },
  ]);
  expect(await single.db.execute(sql`select ${sql.param([odd, literal])}::text[] as list`)).toEqual([
    { list: [mended, literal] },
  ]);
});
