import { chmodSync, mkdirSync } from "node:fs";
import path from "node:path";
import { Disk } from "flydrive";
import { FSDriver } from "flydrive/drivers/fs";
import type { Env } from "../platform/index.ts";

type DataFolder = Pick<Env, "ATELIER_DATA_DIR">;

/** Opens the picture store. Files below `<data>/files` here; further disks are chosen by configuration. */
export function openDisk(env: DataFolder): Disk {
  return new Disk(
    new FSDriver({ location: path.resolve(env.ATELIER_DATA_DIR, "files"), visibility: "private" }),
  );
}

/**
 * Closes the folders with pictures and logs to other users of the machine, also those of an older version. A folder
 * that cannot be changed is no reason not to start: reads and writes report it.
 */
export function closeFolders(env: DataFolder): void {
  for (const name of ["files", "tmp", "logs"]) {
    const folder = path.resolve(env.ATELIER_DATA_DIR, name);
    try {
      mkdirSync(folder, { recursive: true, mode: 0o700 });
      chmodSync(folder, 0o700);
    } catch {
      // Of another user, or on a read-only disk.
    }
  }
}
