import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { randomUUID } from "node:crypto";
import { identify, isAlive } from "../process/process-identity.ts";

/** Processes that need the database of a data folder; it stops when the last one leaves. One file each. */
function folderOf(dataDir: string): string {
  return path.join(dataDir, "run", "database-holders");
}

/** Enters this process and returns the file to leave with. Call it under the folder's lock. */
export function enterHolder(dataDir: string): string {
  mkdirSync(folderOf(dataDir), { recursive: true });
  const file = path.join(folderOf(dataDir), `${randomUUID()}.json`);
  writeFileSync(file, JSON.stringify(identify(process.pid)));
  return file;
}

export function leaveHolder(file: string): void {
  rmSync(file, { force: true });
}

function isHeldBy(file: string): boolean {
  try {
    return isAlive(JSON.parse(readFileSync(file, "utf8")));
  } catch {
    return false; // Its writer died half-way.
  }
}

/** Whether any live process needs the database; forgets those that died without leaving. Call it under the lock. */
export function hasLiveHolder(dataDir: string): boolean {
  const files = readdirSync(folderOf(dataDir)).map((name) => path.join(folderOf(dataDir), name));
  const dead = files.filter((file) => !isHeldBy(file));
  for (const file of dead) leaveHolder(file);
  return dead.length < files.length;
}
