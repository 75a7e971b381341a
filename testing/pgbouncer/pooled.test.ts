// @module-tag all
import { mkdtemp, rm } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { sql } from "drizzle-orm";
import pino from "pino";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type Database, isDatabaseAway, openDatabase } from "@atelier/server/db";
import { runChecks, runDatabaseChecks } from "@atelier/server/doctor";
import { submit } from "@atelier/server/jobs";
import { type Env, parseConfig, parseEnv } from "@atelier/server/platform";
import { openServices, type Services } from "@atelier/server/services";
import { addOwner, type TestOwner, until } from "../jobs/index.ts";
import { answerMark } from "../../scripts/process/tools.ts";
import { createTestDatabase, type TestDatabase } from "../postgres/index.ts";
import { runNode } from "../processes/index.ts";
import { processEnv, startTestWorker } from "../worker/index.ts";
import { type PgBouncer, startPgBouncer } from "./index.ts";

/** Fewer sessions than clients, so that clients must share them. */
const poolSize = 3;

let database: TestDatabase;
let pooler: PgBouncer;
let dataDir: string;
let env: Env;
const opened: Services[] = [];

beforeAll(async () => {
  database = await createTestDatabase();
  pooler = await startPgBouncer(database.url, { poolSize });
  dataDir = await mkdtemp(path.join(os.tmpdir(), "atelier-pooled-"));
  const parsed = parseEnv({
    DATABASE_URL: pooler.url,
    DATABASE_DIRECT_URL: database.url,
    DATABASE_POOLER: "transaction",
    DATABASE_MAX_CONNECTIONS: "2",
    ATELIER_DATA_DIR: dataDir,
    AUTH_SECRET: "a-secret-for-tests-that-is-long-enough-0123456789",
    LOG_LEVEL: "silent",
  });
  if (!parsed.env) throw new Error(JSON.stringify(parsed.problems));
  env = parsed.env;
});
afterAll(async () => {
  await Promise.all(opened.map((services) => services.close()));
  await pooler.destroy();
  await database.drop();
  await rm(dataDir, { recursive: true, force: true });
});

async function openPooled(): Promise<Services> {
  const log = pino({ level: "silent" });
  const services = await openServices({ env, config: parseConfig({}), name: "web", log });
  opened.push(services);
  return services;
}

function openThrough(isPooled: boolean): Database {
  return openDatabase({ url: pooler.url, applicationName: "test", maxConnections: 2, isPooled });
}

test("A3 a pooler that knows no limits refuses a connection that brings them, and takes one that does not", async () => {
  const usual = openThrough(false);
  const failure: unknown = await usual.db.execute(sql`select 1`).catch((error: unknown) => error);
  await usual.close();
  expect(failure).toBeInstanceOf(Error);
  expect(pooler.refusals().join()).toMatch(/_timeout/);
  const pooled = openThrough(true);
  expect(await pooled.db.execute(sql`select 1 as one`)).toEqual([{ one: 1 }]);
  await pooled.close();
});

test("A3 through a pooler the limits hold in each transaction and end with it, and nothing is prepared", async () => {
  const pooled = openThrough(true);
  const { db } = pooled;
  const read = sql`select current_setting('statement_timeout') as statement,
    current_setting('idle_in_transaction_session_timeout') as idle, ${1}::int as n`;
  for (let turn = 0; turn < 3; turn += 1)
    expect(await db.transaction((tx) => tx.execute(read))).toEqual([{ statement: "30s", idle: "15s", n: 1 }]);
  // What the server itself has for all sessions.
  expect(await db.execute(read)).toEqual([{ statement: "0", idle: "1min", n: 1 }]);
  expect(await db.execute(sql`select count(*)::int as n from pg_prepared_statements`)).toEqual([{ n: 0 }]);
  await pooled.close();
});

test("A3 transactions and statements of more clients than sessions keep apart", async () => {
  const clients = Array.from({ length: 4 }, () => openThrough(true));
  const backends = new Set<unknown>();
  await Promise.all(
    clients.flatMap(({ db }, client) =>
      Array.from({ length: 10 }, async (_, turn) => {
        const value = `${client}-${turn}`;
        await db.transaction(async (tx) => {
          await tx.execute(sql`select set_config('atelier.test', ${value}, true)`);
          const [row] = await tx.execute(
            sql`select current_setting('atelier.test') as value, pg_backend_pid() as pid from pg_sleep(0.01)`,
          );
          backends.add(row?.["pid"]);
          expect(row?.["value"]).toBe(value);
        });
      }),
    ),
  );
  expect(backends.size).toBeLessThanOrEqual(poolSize);
  await Promise.all(clients.map((client) => client.close()));
});

test("A3 D9 web and worker work through a pooler: a job goes from submit to its result, and is told live", async () => {
  const [web, other] = [await openPooled(), await openPooled()];
  const owner: TestOwner = await addOwner(web);
  const told: string[] = [];
  other.hints.subscribe(
    (message) => message.type === "jobs" && told.push(...message.jobs.map(({ jobId }) => jobId)),
  );
  const worker = await startTestWorker(web);
  const ids: string[] = [];
  for (let at = 0; at < 3; at += 1) {
    const request = { kind: "upscale", inputs: { image: owner.imageId } };
    ids.push((await submit(web, request, { submitter: owner })).id);
  }
  for (const id of ids) await until(other, id, "completed");
  await expect.poll(() => new Set(told)).toEqual(new Set(ids));
  expect(await worker.term()).toBe(0);
});

test("A1 a start migrates past the pooler and reads through it", async () => {
  const step = runNode(["scripts/supervisor/database.ts", "start"], processEnv({ env }));
  expect([await step.ended, step.output().split(answerMark)]).toEqual([
    0,
    ["", expect.stringMatching(/^[\w-]{20,}$/)],
  ]);
});

test("A1 the doctor says what a pooler lacks: the setting, or the limit of the role", async () => {
  const messagesOf = async (pooled: Readonly<Record<string, string>>) => {
    const source = { DATABASE_URL: pooler.url, ATELIER_DATA_DIR: dataDir, ...pooled };
    return (await runChecks(source)).filter(({ name }) => name === "DATABASE_URL");
  };
  expect(await messagesOf({})).toMatchObject([
    { isOk: false, message: expect.stringContaining("DATABASE_POOLER=transaction") },
  ]);
  expect(
    await messagesOf({ DATABASE_POOLER: "transaction", DATABASE_DIRECT_URL: database.url }),
  ).toMatchObject([{ isOk: true }]);
  const limitOf = async () => {
    const checks = await runDatabaseChecks({ ...env, DATABASE_URL: pooler.url });
    return checks.find(({ name }) => name === "DATABASE_POOLER");
  };
  expect(await limitOf()).toMatchObject({
    isWarning: true,
    message: expect.stringMatching(/ALTER ROLE \S+ SET statement_timeout/),
  });
});

test("A1 the doctor names a pooler that keeps no session for a transaction", async () => {
  const single = await startPgBouncer(database.url, { mode: "statement" });
  const pooled = { DATABASE_POOLER: "transaction", DATABASE_DIRECT_URL: database.url };
  const checks = await runChecks({ DATABASE_URL: single.url, ATELIER_DATA_DIR: dataDir, ...pooled });
  expect(checks.find(({ name }) => name === "DATABASE_URL")).toMatchObject({
    isOk: false,
    message: expect.stringContaining("pool_mode = transaction"),
  });
  await single.destroy();
});

test("A3 a pooler that is gone counts as a database that is away", async () => {
  const gone = await startPgBouncer(database.url);
  const pooled = openDatabase({ url: gone.url, applicationName: "test", isPooled: true });
  const { db } = pooled;
  expect(await db.execute(sql`select 1 as one`)).toEqual([{ one: 1 }]);
  await gone.destroy();
  const failure: unknown = await db.execute(sql`select 1`).catch((error: unknown) => error);
  expect(isDatabaseAway(failure)).toBe(true);
  await pooled.close();
});
