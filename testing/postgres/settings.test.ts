import { Readable } from "node:stream";
import { sql } from "drizzle-orm";
import pg from "pg";
import { afterEach, expect, test } from "vitest";
import { isDatabaseAway, openDatabase, withLoad, withSnapshot } from "@atelier/server/db";
import { openLine } from "../network/index.ts";
import { createEmptyDatabase, createTestDatabase } from "./index.ts";

const closers: (() => Promise<unknown>)[] = [];

afterEach(async () => {
  for (const close of closers.splice(0).toReversed()) await close();
});

function open(url: string, isPooled = false) {
  const database = openDatabase({ url, applicationName: "test", maxConnections: 1, isPooled });
  closers.push(() => database.close());
  return database.db;
}

/** Settings that an operator may have made for all programs of a database. */
const ofOthers = {
  datestyle: "SQL, DMY",
  timezone: "America/St_Johns",
  intervalstyle: "sql_standard",
  bytea_output: "escape",
  extra_float_digits: "-3",
  default_transaction_isolation: "serializable",
};

async function createOddDatabase(create: typeof createTestDatabase): Promise<string> {
  const database = await create();
  closers.push(() => database.drop());
  const client = new pg.Client({ connectionString: database.url });
  await client.connect();
  const name = new URL(database.url).pathname.slice(1);
  for (const [setting, value] of Object.entries(ofOthers))
    await client.query(`alter database ${name} set ${setting} = '${value}'`);
  await client.end();
  return database.url;
}

test.each([false, true])(
  "F19 times, bytes and transactions are the same whatever the database is set to (pooled: %s)",
  async (isPooled) => {
    const db = open(await createOddDatabase(createEmptyDatabase), isPooled);
    const [row] = await db.execute(sql`select '2026-05-11T03:04:05.678Z'::timestamptz as at,
      '2026-05-11T23:30:00Z'::timestamptz::date as day`);
    expect(row).toEqual({ at: "2026-05-11 03:04:05.678+00", day: "2026-05-11" });
    const level = await db.transaction((tx) => tx.execute(sql`show transaction isolation level`));
    expect(level).toEqual([{ transaction_isolation: "read committed" }]);
  },
);

test("F19 rows that are copied out of a database with settings of its own are read by any other", async () => {
  const from = await createOddDatabase(createEmptyDatabase);
  const to = await createOddDatabase(createEmptyDatabase);
  const plain = await createEmptyDatabase();
  closers.push(() => plain.drop());
  const table = { name: "odd", columns: ["at", "exact", "bytes", "pause"] };
  const { signal } = new AbortController();
  for (const url of [from, to, plain.url])
    await open(url).execute(
      sql`create table odd (at timestamptz, exact float8, bytes bytea, pause interval)`,
    );
  await open(from).execute(sql`insert into odd values
    ('2026-05-11T03:04:05.678Z', 0.1::float8 + 0.2::float8, '\\x00ff', '1 day -2 hours')`);
  const copy = await withSnapshot({
    url: from,
    signal,
    run: (snapshot) => snapshot.copyOut(table, async (rows) => Buffer.concat(await rows.toArray())),
  });
  for (const url of [to, plain.url]) {
    await withLoad({ url, signal, run: (load) => load.copyIn(table, Readable.from([copy.written])) });
    const [same] = await open(url).execute(sql`select at = '2026-05-11T03:04:05.678Z' as at,
      exact = 0.1::float8 + 0.2::float8 as exact, bytes = '\\x00ff' as bytes, pause = '1 day -2 hours' as pause from odd`);
    expect(same).toEqual({ at: true, exact: true, bytes: true, pause: true });
  }
});

test("A3 a statement on a line that fell silent fails some time after its limit, and the next one connects again", async () => {
  const database = await createTestDatabase();
  closers.push(() => database.drop());
  const line = await openLine(database.url);
  closers.push(() => line.close());
  const db = open(`${line.urlOf(database.url)}?statement_timeout=2000`);
  await db.execute(sql`select 1`);
  line.set({ toServer: { isSilent: true }, toClient: { isSilent: true } });
  const failure = await db.execute(sql`select 1`).catch((error: unknown) => error);
  expect(isDatabaseAway(failure)).toBe(true);
  const cut = await db.transaction((tx) => tx.execute(sql`select 1`)).catch((error: unknown) => error);
  expect(isDatabaseAway(cut)).toBe(true);
  line.set({});
  expect(await db.execute(sql`select 1 as one`)).toEqual([{ one: 1 }]);
});

test("A3 healthy statements that are slow keep their connection, and those that wait for it their order", async () => {
  const database = await createTestDatabase();
  closers.push(() => database.drop());
  const pid = sql`select pg_backend_pid() as pid`;
  const limited = (limitMs: number) => open(`${database.url}?statement_timeout=${limitMs}`);
  const [slow, many] = [limited(20_000), limited(6_000)];
  /** Longer than the wait for an answer that is late: it is not late, since its limit is not over. */
  const alone = async () => {
    const before = await slow.execute(pid);
    expect(await slow.execute(sql`select 1 as one from pg_sleep(7)`)).toEqual([{ one: 1 }]);
    expect(await slow.execute(pid)).toEqual(before);
  };
  /** The last of them is answered later than one may be, since others are before it. */
  const behindEachOther = async () => {
    const before = await many.execute(pid);
    const order: number[] = [];
    const count = 20;
    const fromMs = performance.now();
    // A wait for the connection ends by itself after a while, so theirs begins late.
    const isNearlyDone = Promise.withResolvers<void>();
    const sent = many.transaction((tx) =>
      Promise.all(
        Array.from({ length: count }, async (_, at) => {
          await tx.execute(sql`select 1 from pg_sleep(0.6)`);
          if (at === count - 2) isNearlyDone.resolve();
        }),
      ),
    );
    const later = isNearlyDone.promise.then(() =>
      Promise.all([1, 2, 3].map((at) => many.execute(sql`select 1`).then(() => order.push(at)))),
    );
    expect(await sent).toHaveLength(count);
    expect(performance.now() - fromMs).toBeGreaterThan(11_000);
    await later;
    expect(order).toEqual([1, 2, 3]);
    expect(await many.execute(pid)).toEqual(before);
  };
  await Promise.all([alone(), behindEachOther()]);
});

test("A3 a wait that a limit of the server has ended is a database that is away, whatever the limit is for", async () => {
  const database = await createTestDatabase();
  closers.push(() => database.drop());
  const admin = new pg.Client({ connectionString: database.url });
  await admin.connect();
  closers.push(() => admin.end());
  const name = new URL(database.url).pathname.slice(1);
  await admin.query(`alter database ${name} set lock_timeout = '100ms'`);
  await admin.query(`alter database ${name} set transaction_timeout = '300ms'`);
  await admin.query("create table locked (n int)");
  await admin.query("set lock_timeout = 0; set transaction_timeout = 0; begin; lock table locked");
  const db = open(database.url);
  const failures = [
    await db.execute(sql`insert into locked values (1)`).catch((error: unknown) => error),
    await db.transaction((tx) => tx.execute(sql`select pg_sleep(30)`)).catch((error: unknown) => error),
  ];
  expect(failures.map(isDatabaseAway)).toEqual([true, true]);
  await admin.query("commit");
  // The connection was ended with the transaction; of a busy machine the next one needs longer than these.
  for (const limit of ["lock_timeout", "transaction_timeout"])
    await admin.query(`alter database ${name} reset ${limit}`);
  expect(await db.execute(sql`insert into locked values (1) returning n`)).toEqual([{ n: 1 }]);
});
