import { spawnSync } from "node:child_process";
import { mkdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

/** One process incarnation: a pid alone may have been given to another process since. */
export interface ProcessIdentity {
  readonly pid: number;
  /** Start time as the system prints it; null where it cannot be read. Only ever compared for equality. */
  readonly startedAt: string | null;
}

interface ProcStat {
  readonly state: string;
  readonly startTicks: string;
}

function readProcStat(pid: number): ProcStat | null {
  try {
    const line = readFileSync(`/proc/${pid}/stat`, "utf8");
    // The command's name is in brackets and may itself contain brackets and spaces.
    const fields = line.slice(line.lastIndexOf(")") + 2).split(" ");
    return { state: fields[0] ?? "", startTicks: fields[19] ?? "" };
  } catch {
    return null;
  }
}

function readStartTime(pid: number): string | null {
  if (process.platform === "linux") return readProcStat(pid)?.startTicks ?? null;
  if (process.platform === "win32") return null;
  const answer = spawnSync("ps", ["-o", "lstart=", "-p", String(pid)], { encoding: "utf8" });
  return answer.status === 0 ? answer.stdout.trim() : null;
}

export function identify(pid: number): ProcessIdentity {
  return { pid, startedAt: readStartTime(pid) };
}

/** Whether a process runs under this pid. A zombie does not run: in a container it may never be reaped. */
export function isPidAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
  } catch (error) {
    if (!(error instanceof Error && "code" in error && error.code === "EPERM")) return false;
  }
  return process.platform !== "linux" || readProcStat(pid)?.state !== "Z";
}

/** Whether exactly this incarnation still runs. Where start times cannot be read the pid decides. */
export function isAlive(identity: ProcessIdentity): boolean {
  return isPidAlive(identity.pid) && readStartTime(identity.pid) === identity.startedAt;
}

/** Whether this incarnation runs beyond doubt, so that it may be killed. */
export function isCertainlyAlive(identity: ProcessIdentity): boolean {
  return identity.startedAt !== null && isAlive(identity);
}

const waitMs = 60_000;
const retryMs = 20;
/** Writing the owner takes no longer than this. */
const unwrittenMs = 5_000;

function tryTake(file: string): boolean {
  try {
    writeFileSync(file, JSON.stringify(identify(process.pid)), { flag: "wx" });
    return true;
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "EEXIST") return false;
    throw error;
  }
}

function readText(file: string): string | null {
  try {
    return readFileSync(file, "utf8");
  } catch {
    return null;
  }
}

function parseOwner(text: string): ProcessIdentity | null {
  try {
    const owner: ProcessIdentity = JSON.parse(text);
    return Number.isInteger(owner.pid) ? owner : null;
  } catch {
    return null;
  }
}

/** A file without an owner is just being written, or its writer died on the way: then it grows old. */
function isStale(file: string, text: string): boolean {
  const owner = parseOwner(text);
  if (owner) return !isAlive(owner);
  const found = statSync(file, { throwIfNoEntry: false });
  return found !== undefined && Date.now() - found.mtimeMs > unwrittenMs;
}

/**
 * Removes the lock only while it still holds `text`. Between the look and the removal another may have taken the dead
 * owner's lock over: a lock that turns out to be another's is put back, unless a third has taken the place meanwhile.
 */
export function removeLock(file: string, text: string): void {
  const aside = `${file}.stale-${process.pid}`;
  try {
    renameSync(file, aside);
  } catch {
    return; // Another process was first.
  }
  try {
    const taken = readText(aside);
    // Not by a hard link, which exFAT and some shares do not have.
    if (taken !== null && taken !== text) writeFileSync(file, taken, { flag: "wx" });
  } catch (error) {
    if (!(error instanceof Error && "code" in error && error.code === "EEXIST")) throw error;
  } finally {
    rmSync(aside, { force: true });
  }
}

function breakStale(file: string): void {
  const text = readText(file);
  if (text !== null && isStale(file, text)) removeLock(file, text);
}

/** Runs `action` while this process holds the lock file; the lock of a dead process is taken over. */
export async function withFileLock<T>(file: string, action: () => Promise<T>): Promise<T> {
  mkdirSync(path.dirname(file), { recursive: true });
  const endMs = performance.now() + waitMs;
  while (!tryTake(file)) {
    breakStale(file);
    if (performance.now() > endMs) throw new Error(`${file} is held by another process for over a minute.`);
    await sleep(retryMs);
  }
  try {
    return await action();
  } finally {
    rmSync(file, { force: true });
  }
}
