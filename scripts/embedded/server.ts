import { spawn } from "node:child_process";
import { closeSync, existsSync, openSync, renameSync, statSync } from "node:fs";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { isPidAlive } from "../process/lock.ts";
import { findFreePort, isPortFree, waitUntil } from "../process/tools.ts";
import {
  clearDeadPostmasterFile,
  commandOf,
  type Postmaster,
  readPostmaster,
  type RunAs,
  serverArgs,
  StartError,
} from "./cluster.ts";

const fastMs = 15_000;
const immediateMs = 5_000;

function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch {
    // The process has already ended.
  }
}

/**
 * Stops the live server of the data folder: closes all sessions and writes a checkpoint; after 15 s it stops without a
 * checkpoint.
 */
export async function stopServer(clusterDir: string): Promise<void> {
  const server = readPostmaster(clusterDir);
  if (!server) return;
  const isGone = () => !isPidAlive(server.pid);
  signal(server.pid, "SIGINT");
  if (await waitUntil(isGone, fastMs)) return;
  signal(server.pid, "SIGQUIT");
  await waitUntil(isGone, immediateMs);
}

const readyMs = 60_000;
const usualPort = 54_320;
const maxLogBytes = 10 * 1024 * 1024;
const startTries = 20;

export interface ServerPlan {
  readonly clusterDir: string;
  /** Fixed port; null: the usual port, or any free one. */
  readonly port: number | null;
  readonly settings: Readonly<Record<string, string>>;
  readonly runAs: RunAs;
}

function logFileOf(clusterDir: string): string {
  return path.join(path.dirname(clusterDir), "postgres.log");
}

function openLog(clusterDir: string): number {
  const file = logFileOf(clusterDir);
  if (existsSync(file) && statSync(file).size > maxLogBytes) renameSync(file, `${file}.1`);
  return openSync(file, "a");
}

async function choosePort(plan: ServerPlan): Promise<number> {
  if (plan.port !== null) return plan.port;
  return (await isPortFree(usualPort)) ? usualPort : findFreePort();
}

/** Starts one server process; null when it ended before it was ready. */
async function launch(plan: ServerPlan): Promise<Postmaster | null> {
  const port = await choosePort(plan);
  const { file, args, user } = commandOf(
    plan.runAs,
    "postgres",
    serverArgs(plan.clusterDir, port, plan.settings),
  );
  const log = openLog(plan.clusterDir);
  // Its own process group: Ctrl-C in the terminal must not stop the database before the app.
  const child = spawn(file, args, { ...user, detached: true, stdio: ["ignore", log, log] });
  closeSync(log);
  let hasEnded = false;
  child.once("exit", () => (hasEnded = true));
  child.once("error", () => (hasEnded = true));
  child.unref();
  const isReady = () => {
    const found = readPostmaster(plan.clusterDir);
    return found?.pid === child.pid && found?.status === "ready";
  };
  const isOver = await waitUntil(() => hasEnded || isReady(), readyMs);
  if (!isOver) throw new StartError(`The embedded PostgreSQL is not ready after ${readyMs / 1000} s.`);
  return hasEnded ? null : readPostmaster(plan.clusterDir);
}

/** The live server once it is ready; null when there is none (waits for one that is stopping). */
async function findServer(clusterDir: string): Promise<Postmaster | null> {
  const settled = await waitUntil(() => {
    const status = readPostmaster(clusterDir)?.status;
    return status === undefined || status === "ready";
  }, readyMs);
  if (!settled) throw new StartError(`The database server of ${clusterDir} neither starts nor stops.`);
  const found = readPostmaster(clusterDir);
  return found && isPidAlive(found.pid) ? found : null;
}

/** Uses the live server of the data folder, else starts one. Call it under the folder's lock. */
export async function startServer(plan: ServerPlan): Promise<Postmaster> {
  for (let attempt = 1; attempt <= startTries; attempt += 1) {
    const found = await findServer(plan.clusterDir);
    if (found) return found;
    clearDeadPostmasterFile(plan.clusterDir);
    const started = await launch(plan);
    if (started) return started;
    // After a crash the old server's child processes keep its shared memory for a moment.
    await sleep(100 * Math.min(attempt, 5));
  }
  throw new StartError(`The embedded PostgreSQL does not start. Its log: ${logFileOf(plan.clusterDir)}`);
}
