import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { identify, isAlive, type ProcessIdentity } from "./process-identity.ts";

const waitMs = 60_000;
const retryMs = 20;

function tryTake(file: string): boolean {
  try {
    writeFileSync(file, JSON.stringify(identify(process.pid)), { flag: "wx" });
    return true;
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "EEXIST") return false;
    throw error;
  }
}

function readOwner(file: string): ProcessIdentity | null {
  try {
    return JSON.parse(readFileSync(file, "utf8"));
  } catch {
    return null; // Just being written or just removed.
  }
}

/** Moves a dead owner's lock away. The rename makes sure that of several who saw it dead only one removes it. */
function breakStale(file: string): void {
  const owner = readOwner(file);
  if (!owner || isAlive(owner)) return;
  const aside = `${file}.stale-${process.pid}`;
  try {
    renameSync(file, aside);
  } catch {
    return;
  }
  rmSync(aside, { force: true });
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
