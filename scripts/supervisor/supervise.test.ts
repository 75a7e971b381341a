import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { type NodeRun, runNode, runThrough } from "@atelier/testing/processes";
import { readPostmaster } from "../embedded/cluster.ts";
import { stopServer } from "../embedded/server.ts";
import { identify, isPidAlive } from "../process/lock.ts";
import { findFreePort, waitUntil } from "../process/tools.ts";
import { type ChildSpec, nextDelayMs, usualBackoff } from "./child.ts";
import { changeRecords, childrenOf, readRecords, sweepLeftovers } from "./supervise.ts";

let dataDir = "";
const runs: NodeRun[] = [];

beforeEach(() => {
  dataDir = mkdtempSync(path.join(os.tmpdir(), "atelier-supervisor-"));
});

afterEach(async () => {
  for (const run of runs.splice(0)) {
    run.child.kill("SIGKILL");
    await run.ended;
  }
  await sweepLeftovers(dataDir);
  await stopServer(path.join(dataDir, "postgres"));
  rmSync(dataDir, { recursive: true, force: true });
});

const idle = `console.log("up " + process.pid); setInterval(() => {}, 1000);`;
const stubborn = `process.on("SIGTERM", () => console.log("no")); ${idle}`;
/** Starts a process of its own that outlives SIGTERM to its parent. */
const withGrandchild = `
  const { spawn } = require("node:child_process");
  const pid = spawn(process.execPath, ["-e", "setInterval(() => {}, 1000)"]).pid;
  console.log("grandchild " + pid);
  ${idle}`;

function childOf(code: string, graceMs = 10_000): ChildSpec {
  const args = ["-e", code];
  return { name: "part", file: process.execPath, args, env: process.env, cwd: os.tmpdir(), graceMs };
}

/** A real supervisor process over such a child, with short waits. */
function startSupervisor(child: ChildSpec, databasePort?: number): NodeRun {
  const run = runNode(supervisorArgs(child, databasePort));
  runs.push(run);
  return run;
}

function supervisorArgs(child: ChildSpec, databasePort?: number): string[] {
  const from = (file: string) => JSON.stringify(path.join(import.meta.dirname, file));
  const options = JSON.stringify({ dataDir, port: databasePort });
  const code = `
    const { supervise } = await import(${from("supervise.ts")});
    const { listenForStop } = await import(${from("signals.ts")});
    const { openPostgres } = await import(${from("../embedded/postgres.ts")});
    const { watchLauncher } = await import(${from("signals.ts")});
    const stop = listenForStop();
    watchLauncher(stop.request);
    const database = ${databasePort ? `await openPostgres(${options})` : "null"};
    const backoff = { firstMs: 100, maxMs: 250, healthyMs: 60000 };
    const say = (line) => console.log(line);
    if (database) say("database " + database.pid());
    const plan = { role: "test", dataDir: ${JSON.stringify(dataDir)}, children: [${JSON.stringify(child)}] };
    process.exitCode = await supervise({ ...plan, database, stop, say, backoff });
    stop.release();
  `;
  return ["--input-type=module", "--eval", code];
}

const pidSeen = async (run: NodeRun, pattern: RegExp) => Number((await run.seen(pattern))[1]);
const isGone = (pid: number) => waitUntil(() => !isPidAlive(pid), 30_000);

test("the wait doubles from death to death up to the limit and starts anew after a healthy time", () => {
  const delays = [0, 1_000, 2_000, 16_000, 30_000].map((previous) => nextDelayMs(usualBackoff, previous, 10));
  expect(delays).toEqual([1_000, 2_000, 4_000, 30_000, 30_000]);
  expect(nextDelayMs(usualBackoff, 30_000, 60_000)).toBe(1_000);
});

const settingsOf = () => ({
  host: "127.0.0.1",
  port: 1,
  dataDir,
  databaseUrl: null,
  authSecret: null,
  appUrl: "http://localhost:1",
  stopGraceMs: 1,
  only: [],
  possibleKinds: [],
});

test("children have two heaps of malloc and give large blocks back, unless the operator sets other numbers", () => {
  const heapsOf = (env: NodeJS.ProcessEnv) =>
    childrenOf("dev", settingsOf(), env).map((child) => [
      child.env["MALLOC_ARENA_MAX"],
      child.env["MALLOC_MMAP_THRESHOLD_"],
    ]);
  expect(heapsOf({ NODE_ENV: "test" })).toEqual(Array(2).fill(["2", "262144"]));
  const own = { MALLOC_ARENA_MAX: "8", MALLOC_MMAP_THRESHOLD_: "1" };
  expect(heapsOf({ NODE_ENV: "test", ...own })).toEqual(Array(2).fill(["8", "1"]));
});

test("children hold the pixels of each picture that a job may make in memory, unless the operator sets another limit", () => {
  const limitsOf = (env: NodeJS.ProcessEnv) =>
    childrenOf("dev", settingsOf(), env).map((child) => child.env["VIPS_DISC_THRESHOLD"]);
  expect(limitsOf({ NODE_ENV: "test" })).toEqual(["300m", "300m"]);
  expect(limitsOf({ NODE_ENV: "test", VIPS_DISC_THRESHOLD: "50m" })).toEqual(["50m", "50m"]);
});

test("S6 sharp opens no SVG in the pages, where anybody sends files; a worker draws those of providers", () => {
  const blocks = childrenOf("dev", settingsOf(), { NODE_ENV: "test" }).map(({ name, env }) => [
    name,
    env["VIPS_BLOCK_UNTRUSTED"],
  ]);
  expect(blocks).toEqual([
    ["web", "1"],
    ["worker", undefined],
  ]);
});

test("a child that dies is started again, each time later, and the supervisor says so", async () => {
  const run = startSupervisor(childOf("process.exit(7)"));
  await run.seen(
    /part ended with code 7; starting it again in 0\.1 s[^]+again in 0\.2 s[^]+again in 0\.25 s[^]+again in 0\.25 s/,
  );
  run.child.kill("SIGTERM");
  expect(await run.ended).toBe(0);
});

test("D9 a child that ends as it was asked to is not started again, and the supervisor ends after the last one", async () => {
  const run = startSupervisor({ ...childOf("process.exit(20)"), lastCode: 20 });
  expect([await run.ended, run.output()]).toEqual([0, expect.stringContaining("is not started again")]);
  expect(readRecords(dataDir)).toEqual([]);
});

test("D4 a child that is to run once is not started again, and the supervisor ends with its code", async () => {
  const run = startSupervisor({
    ...childOf(`${withGrandchild}; setTimeout(() => process.exit(7), 500);`),
    lastCode: "any",
  });
  const grandchild = await pidSeen(run, /grandchild (\d+)/);
  expect([await run.ended, run.output()]).toEqual([7, expect.not.stringContaining("again")]);
  expect(await isGone(grandchild)).toBe(true);
});

test("a child killed by a signal comes back as a new process and the data folder remembers it", async () => {
  const run = startSupervisor(childOf(idle));
  const first = await pidSeen(run, /up (\d+)/);
  process.kill(first, "SIGKILL");
  const second = await pidSeen(run, /was ended by SIGKILL[^]+up (\d+)/);
  expect(second).not.toBe(first);
  expect(await waitUntil(() => readRecords(dataDir)[0]?.children[0]?.pid === second, 30_000)).toBe(true);
  expect(readRecords(dataDir)).toEqual([
    {
      role: "test",
      supervisor: identify(run.child.pid ?? 0),
      children: [{ name: "part", ...identify(second) }],
    },
  ]);
});

test("Ctrl-C ends the child and what it started, exits with 0 and leaves no record", async () => {
  const run = startSupervisor(childOf(withGrandchild));
  const grandchild = await pidSeen(run, /grandchild (\d+)/);
  const child = await pidSeen(run, /up (\d+)/);
  run.child.kill("SIGINT");
  expect(await run.ended).toBe(0);
  expect(await isGone(child)).toBe(true);
  expect(await isGone(grandchild)).toBe(true);
  expect(readRecords(dataDir)).toEqual([]);
});

test("a second Ctrl-C kills at once a child that does not want to stop", async () => {
  const run = startSupervisor(childOf(stubborn, 600_000));
  const child = await pidSeen(run, /up (\d+)/);
  run.child.kill("SIGINT");
  await run.seen(/\[part\] no/);
  // Once the child is gone, the supervisor no longer listens while it ends.
  const again = setInterval(() => isPidAlive(child) && run.child.kill("SIGINT"), 100);
  expect(await run.ended).toBe(0);
  clearInterval(again);
  expect(isPidAlive(child)).toBe(false);
});

test("a child that ignores SIGTERM is killed after its grace time", async () => {
  const run = startSupervisor(childOf(stubborn, 300));
  const child = await pidSeen(run, /up (\d+)/);
  run.child.kill("SIGTERM");
  expect(await run.ended).toBe(0);
  expect(run.output()).toContain("part did not stop within 0.3 s and is killed");
  expect(isPidAlive(child)).toBe(false);
});

test("what a killed supervisor leaves running is ended by the next start", async () => {
  const run = startSupervisor(childOf(idle));
  const child = await pidSeen(run, /up (\d+)/);
  expect(await waitUntil(() => readRecords(dataDir)[0]?.children.length === 1, 30_000)).toBe(true);
  run.child.kill("SIGKILL");
  await run.ended;
  expect(isPidAlive(child)).toBe(true);
  expect(await sweepLeftovers(dataDir)).toEqual([`part (pid ${child})`]);
  expect(await isGone(child)).toBe(true);
  expect(readRecords(dataDir)).toEqual([]);
});

test("the sweep touches neither children of a live supervisor nor a process that merely has the same pid", async () => {
  const run = startSupervisor(childOf(idle));
  const child = await pidSeen(run, /up (\d+)/);
  expect(await waitUntil(() => readRecords(dataDir)[0]?.children.length === 1, 30_000)).toBe(true);
  const stranger = runNode(["-e", idle]);
  runs.push(stranger);
  const strangerPid = await pidSeen(stranger, /up (\d+)/);
  await changeRecords(dataDir, (records) => [
    ...records,
    {
      role: "test",
      supervisor: { pid: strangerPid, startedAt: "1" },
      children: [{ name: "part", pid: strangerPid, startedAt: "1" }],
    },
  ]);
  expect(await sweepLeftovers(dataDir)).toEqual([]);
  expect([child, strangerPid].every(isPidAlive)).toBe(true);
  expect(readRecords(dataDir)).toHaveLength(1);
});

test.runIf(process.platform === "linux")(
  "all stops when the package manager that started it is killed",
  async () => {
    const launcher = path.join(dataDir, "pnpm");
    writeFileSync(launcher, '#!/bin/sh\n"$@"\n:\n', { mode: 0o755 });
    const run = runThrough(launcher, supervisorArgs(childOf(idle)));
    runs.push(run);
    const child = await pidSeen(run, /up (\d+)/);
    run.child.kill("SIGKILL");
    await run.seen(/Stopped/);
    expect(isPidAlive(child)).toBe(false);
  },
);

test("A3 a database that dies is started again at once, and stops last", async () => {
  const run = startSupervisor(childOf(idle), await findFreePort());
  const server = await pidSeen(run, /database (\d+)/);
  await run.seen(/up \d+/);
  process.kill(server, "SIGKILL");
  await run.seen(/The database has died; starting it again[^]+The database runs again/);
  run.child.kill("SIGTERM");
  expect(await run.ended).toBe(0);
  expect(readPostmaster(path.join(dataDir, "postgres"))).toBeNull();
  expect(run.output()).toMatch(/Stopping\n[^]*Stopped\n$/);
});
