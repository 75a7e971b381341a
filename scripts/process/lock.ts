import { linkSync, mkdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { identify, isAlive, type ProcessIdentity } from "./process-identity.ts";

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
    return; // Somebody else was first.
  }
  try {
    if (readText(aside) !== text) linkSync(aside, file);
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
