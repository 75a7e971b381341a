import path from "node:path";
import { Disk } from "flydrive";
import { FSDriver } from "flydrive/drivers/fs";
import type { Env } from "../platform/index.ts";

/** Opens the picture store. Files below `<data>/files` here; further disks are chosen by configuration. */
export function openDisk(env: Pick<Env, "ATELIER_DATA_DIR">): Disk {
  return new Disk(
    new FSDriver({ location: path.resolve(env.ATELIER_DATA_DIR, "files"), visibility: "private" }),
  );
}
