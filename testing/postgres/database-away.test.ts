import { createServer, type Socket } from "node:net";
import { sql } from "drizzle-orm";
import pg from "pg";
import { afterEach, expect, test } from "vitest";
import { type Db, isDatabaseAway, openDatabase } from "@atelier/server/db";
import { createBells } from "@atelier/server/queue";
import { openLine } from "../network/index.ts";
import { createTestDatabase, startPrivatePostgres } from "./index.ts";

const closers: (() => Promise<unknown>)[] = [];

afterEach(async () => {
  for (const close of closers.splice(0).toReversed()) await close();
});

function open(url: string) {
  const database = openDatabase({ url, applicationName: "test", maxConnections: 1 });
  closers.push(() => database.close());
  return database;
}

/** Takes connections and never says a word. */
const startMuteServer = () => startServer((socket) => socket.resume());

async function startServer(onConnection: (socket: Socket) => void): Promise<string> {
  const server = createServer(onConnection);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  closers.push(() => new Promise((resolve) => server.close(resolve)));
  const address = server.address();
  return `postgres://nobody@127.0.0.1:${typeof address === "object" ? address?.port : 0}/none`;
}

test("A3 a transaction that gets no connection in time failed because the database is away", async () => {
  const { db } = open(await startMuteServer());
  const failure = await db.transaction((tx) => tx.execute(sql`select 1`)).catch((error: unknown) => error);
  expect(failure).toBeInstanceOf(Error);
  expect(isDatabaseAway(failure)).toBe(true);
});

test("A3 a query to a server that hangs up at once fails after one try", async () => {
  let tries = 0;
  const hangUp = (socket: Socket) => {
    tries += 1;
    socket.resume().end();
  };
  const { db } = open(await startServer(hangUp));
  const failure = await db.execute(sql`select 1`).catch((error: unknown) => error);
  expect(isDatabaseAway(failure)).toBe(true);
  expect(tries).toBe(1);
});

/** Answers the start of each connection with an error of these fields, as poolers of hosts do. */
const startRefusing = (fields: Readonly<Record<string, string>>) =>
  startServer((socket) => {
    const body = Object.entries(fields).map(([name, value]) => `${name}${value}\0`);
    const bytes = Buffer.from(`${body.join("")}\0`);
    const head = Buffer.from("E\0\0\0\0");
    head.writeUInt32BE(bytes.length + 4, 1);
    socket.once("data", () => socket.end(Buffer.concat([head, bytes])));
  });

test.each([
  [true, { S: "FATAL", V: "FATAL", C: "XX000", M: "max clients reached in session mode" }],
  [true, { S: "ERROR", C: "XX000", M: "Couldn't connect to compute node" }],
  [true, { S: "FATAL", V: "FATAL", C: "XX000", M: "Unknown error of the pooler" }],
  [false, { S: "FATAL", V: "FATAL", C: "XX000", M: "Tenant or user not found" }],
  [false, { S: "FATAL", V: "FATAL", C: "XX000", M: 'database "studio" does not exist' }],
  [false, { S: "ERROR", C: "XX000", M: "The requested endpoint could not be found, or you have no access" }],
  [true, { S: "FATAL", V: "FATAL", C: "XX000", M: "database closed: existing connections exceeded" }],
  [true, { S: "FATAL", V: "FATAL", C: "XX000", M: "authentication query failed: password lookup timed out" }],
  [true, { S: "FATAL", V: "FATAL", C: "08P01", M: "no more connections allowed (max_client_conn)" }],
  [true, { S: "FATAL", V: "FATAL", C: "53300", M: "sorry, too many clients already", R: "InitPostgres" }],
  [false, { S: "FATAL", V: "FATAL", C: "28P01", M: "password authentication failed", R: "auth_failed" }],
  [false, { S: "ERROR", V: "ERROR", C: "XX000", M: "cache lookup failed", R: "getBaseType" }],
] as const)(
  "A3 whether the database is away (%s) is read from the refusal of a host: %o",
  async (isAway, fields) => {
    const { db } = open(await startRefusing(fields));
    const refusal = await db.execute(sql`select 1`).catch((error: unknown) => error);
    expect(isDatabaseAway(refusal)).toBe(isAway);
  },
);

/** Sessions begun before stay as they were: those of the old primary after a failover, which is a copy now. */
async function setReadOnly(url: string, isReadOnly: boolean): Promise<void> {
  const admin = new pg.Client({ connectionString: url });
  await admin.connect();
  const name = new URL(url).pathname.slice(1);
  await admin.query("set default_transaction_read_only = off");
  await admin.query(`alter database ${name} set default_transaction_read_only = ${isReadOnly}`);
  await admin.end();
}

const write = sql`insert into users (id, name, email) values ('one', 'One', 'one@example.test')`;

test.each<[string, (db: Db) => Promise<unknown>]>([
  ["a statement", (db) => db.execute(write)],
  ["a transaction", (db) => db.transaction((tx) => tx.execute(write))],
])(
  "A3 sessions of an old primary that takes no writes any more are left after %s, also idle ones",
  async (_, act) => {
    const database = await createTestDatabase();
    closers.push(() => database.drop());
    await setReadOnly(database.url, true);
    const opened = openDatabase({ url: database.url, applicationName: "test", maxConnections: 3 });
    const bells = createBells({ backend: "postgres", url: database.url }, { onError: () => undefined });
    closers.push(() => Promise.all([opened.close(), bells.close()]));
    const readModes = async () => {
      const read = sql`select current_setting('transaction_read_only') as mode from pg_sleep(0.2)`;
      const rows = await Promise.all([1, 2, 3].map(() => opened.db.execute(read)));
      return rows.flat().map(({ mode }) => mode);
    };
    const ring = () => bells.ring("cpu-light", [{ jobId: "one", attempt: 0, ring: 1 }]);
    expect(await readModes()).toEqual(["on", "on", "on"]);
    await expect(ring()).rejects.toMatchObject({ code: "25006" });
    await setReadOnly(database.url, false);
    const failure: unknown = await act(opened.db).catch((error: unknown) => error);
    expect(isDatabaseAway(failure)).toBe(true);
    expect(await readModes()).toEqual(["off", "off", "off"]);
    await act(opened.db);
    await ring();
  },
);

test("F16 A3 a transaction that is cut off while it begins gives its connection back", async () => {
  const postgres = await startPrivatePostgres();
  closers.push(() => postgres.destroy());
  const { db } = open(postgres.url);
  await db.execute(sql`select 1`);
  postgres.freeze();
  const cut = db.transaction((tx) => tx.execute(sql`select 1`)).catch((error: unknown) => error);
  await postgres.kill9();
  expect(isDatabaseAway(await cut)).toBe(true);
  await postgres.start();
  const rows = await db.transaction((tx) => tx.execute(sql`select 1 as one`));
  expect(rows).toEqual([{ one: 1 }]);
});

test("A3 a queue whose first connection failed rings and is heard once the database is back, and the process stays awake", async () => {
  const database = await createTestDatabase();
  const line = await openLine(database.url);
  const errors: Error[] = [];
  const heard: string[] = [];
  line.set({ isCut: true });
  const bells = createBells(
    { backend: "postgres", url: line.urlOf(database.url) },
    {
      onError: (error) => errors.push(error),
    },
  );
  const consumer = bells.consume("cpu-light", 1, async ({ jobId }) => void heard.push(jobId));
  const ring = (jobId: string) => bells.ring("cpu-light", [{ jobId, attempt: 0, ring: 1 }]);
  await expect(ring("lost")).rejects.toThrow(/ECONNRESET/);
  await expect.poll(() => errors.length, { timeout: 20_000 }).toBeGreaterThan(1);
  line.set({});
  await expect.poll(() => ring("heard").then(() => "rung", String), { timeout: 20_000 }).toBe("rung");
  await expect.poll(() => heard, { timeout: 20_000 }).toEqual(["heard"]);
  expect(errors.length).toBeLessThan(50);
  await consumer.close();
  await bells.close();
  await line.close();
  await database.drop();
});
