import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import os from "node:os";
import path from "node:path";
import pg from "pg";
import { afterEach, beforeEach, expect, test } from "vitest";
import { type NodeRun, runCode } from "@atelier/testing/processes";
import { isPidAlive } from "../process/lock.ts";
import { findFreePort, waitUntil } from "../process/tools.ts";
import { type EmbeddedPostgres, openPostgres } from "./postgres.ts";
import { stopServer } from "./server.ts";

let dataDir = "";
let port = 0;

beforeEach(async () => {
  dataDir = mkdtempSync(path.join(os.tmpdir(), "atelier-embedded-"));
  port = await findFreePort();
});

afterEach(async () => {
  await stopServer(path.join(dataDir, "postgres"));
  rmSync(dataDir, { recursive: true, force: true });
});

const open = () => openPostgres({ dataDir, port });

async function query(url: string, sql: string): Promise<unknown[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query(sql)).rows;
  } finally {
    await client.end();
  }
}

/** Another process that holds the database until it is killed. */
function openElsewhere(env?: NodeJS.ProcessEnv): NodeRun {
  const file = JSON.stringify(path.join(import.meta.dirname, "postgres.ts"));
  return runCode(
    `
    const { openPostgres } = await import(${file});
    const database = await openPostgres(${JSON.stringify({ dataDir, port })});
    console.log("open " + database.pid() + " " + database.url);
    setInterval(() => {}, 1000);
  `,
    env,
  );
}

async function killServer(database: EmbeddedPostgres): Promise<void> {
  process.kill(database.pid() ?? 0, "SIGKILL");
  await waitUntil(() => !database.isRunning(), 10_000);
}

test("a second one attaches to the running server, which stops when the last one leaves", async () => {
  const first = await open();
  const second = await open();
  expect(second.url).toBe(first.url);
  expect(second.pid()).toBe(first.pid());
  await first.close();
  expect(await query(second.url, "SELECT 1 AS n")).toEqual([{ n: 1 }]);
  await second.close();
  expect(second.isRunning()).toBe(false);
});

test("two processes that start at the same moment share one new server", async () => {
  const runs = [openElsewhere(), openElsewhere()];
  const lines = await Promise.all(runs.map((run) => run.seen(/open (\d+) \S+/)));
  expect(lines[0]?.[1]).toBe(lines[1]?.[1]);
  for (const run of runs) run.child.kill("SIGKILL");
  await Promise.all(runs.map((run) => run.ended));
});

test("kill -9 of the server loses no acknowledged row, and it comes back at the same address", async () => {
  const database = await open();
  await query(database.url, "CREATE TABLE mark (n int)");
  for (let n = 0; n < 20; n += 1) await query(database.url, `INSERT INTO mark VALUES (${n})`);
  await killServer(database);
  await database.revive();
  expect(await query(database.url, "SELECT count(*)::int AS n FROM mark")).toEqual([{ n: 20 }]);
  await database.close();
});

test("the server of an owner that was killed is taken over and stopped at the end", async () => {
  const owner = openElsewhere();
  const serverPid = Number((await owner.seen(/open (\d+)/))[1]);
  owner.child.kill("SIGKILL");
  await owner.ended;
  expect(isPidAlive(serverPid)).toBe(true);
  const database = await open();
  expect(database.pid()).toBe(serverPid);
  await database.close();
  expect(isPidAlive(serverPid)).toBe(false);
});

test.runIf(process.getuid?.() === 0)("as root without user namespaces it runs as another user", async () => {
  const programs = path.join(dataDir, "bin");
  mkdirSync(programs);
  symlinkSync("/usr/bin/id", path.join(programs, "id"));
  chmodSync(dataDir, 0o755);
  const run = openElsewhere({ ...process.env, PATH: programs });
  const serverPid = Number((await run.seen(/open (\d+)/))[1]);
  expect(statSync(`/proc/${serverPid}`).uid).not.toBe(0);
  run.child.kill("SIGKILL");
  await run.ended;
});

test("a leftover pid file that names some other program does not keep the server from starting", async () => {
  const database = await open();
  const file = path.join(dataDir, "postgres", "postmaster.pid");
  const lines = readFileSync(file, "utf8").split("\n");
  await killServer(database);
  writeFileSync(file, [String(process.pid), ...lines.slice(1)].join("\n"));
  expect(database.isRunning()).toBe(false);
  await database.revive();
  expect(await query(database.url, "SELECT 1 AS n")).toEqual([{ n: 1 }]);
  await database.close();
});

test("the password is generated, readable by the owner alone and asked for", async () => {
  const database = await open();
  const file = path.join(dataDir, "secrets", "postgres-password");
  expect(statSync(file).mode & 0o777).toBe(0o600);
  expect(readFileSync(file, "utf8").trim()).toHaveLength(43);
  const wrong = new URL(database.url);
  wrong.password = "guess";
  await expect(query(wrong.href, "SELECT 1")).rejects.toMatchObject({ code: "28P01" });
  await database.close();
});
