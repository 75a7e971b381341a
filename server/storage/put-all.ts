import { mkdir, open, rename, rm } from "node:fs/promises";
import path from "node:path";
import type { Disk } from "flydrive";
import { FSDriver } from "flydrive/drivers/fs";
import { newId } from "../platform/index.ts";
import { storageFailure } from "./storage-failure.ts";

export interface NewObject {
  readonly key: string;
  readonly bytes: Buffer;
  readonly mime: string;
}

/**
 * Writes all objects and returns when no write is under way any more, also when one failed. On a local disk each object
 * appears whole or not at all and outlives a power cut: a row must never name a shorter file. Throws
 * `storage_unavailable`.
 */
export async function putAll(disk: Disk, objects: readonly NewObject[]): Promise<void> {
  const root = disk.driver instanceof FSDriver ? disk.driver.options.location : null;
  const results = await Promise.allSettled(
    objects.map(({ key, bytes, mime }) =>
      typeof root === "string"
        ? writeDurably(path.join(root, key), bytes)
        : disk.put(key, bytes, { contentType: mime }),
    ),
  );
  const failed = results.find((result) => result.status === "rejected");
  if (failed) throw storageFailure(failed.reason);
  if (typeof root === "string") await syncFolders(root, objects);
}

/** Under a temporary name first: the final name always has all bytes. */
async function writeDurably(file: string, bytes: Buffer): Promise<void> {
  await mkdir(path.dirname(file), { recursive: true, mode: 0o700 });
  const draft = `${file}.${newId()}.part`;
  try {
    const handle = await open(draft, "wx", 0o600);
    try {
      await handle.writeFile(bytes);
      await handle.sync();
    } finally {
      await handle.close();
    }
    await rename(draft, file);
  } catch (error) {
    await rm(draft, { force: true }).catch(() => undefined);
    throw error;
  }
}

/** Names are part of the folders: without this a file's bytes would be safe and its name lost. */
async function syncFolders(root: string, objects: readonly NewObject[]): Promise<void> {
  const folders = new Set<string>();
  for (const { key } of objects) {
    for (let at = path.posix.dirname(key); at !== "."; at = path.posix.dirname(at)) folders.add(at);
  }
  try {
    await Promise.all([...folders].map((folder) => syncFolder(path.join(root, folder))));
  } catch (error) {
    throw storageFailure(error);
  }
}

async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, "r");
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
