import { createServer, type Socket } from "node:net";
import { sql } from "drizzle-orm";
import { afterEach, expect, test } from "vitest";
import { isDatabaseAway, openDatabase } from "@atelier/server/db";
import { startPrivatePostgres } from "./index.ts";

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
