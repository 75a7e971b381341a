import { chmodSync, mkdirSync } from "node:fs";
import { mkdir, open, rename, rm, rmdir, statfs } from "node:fs/promises";
import path from "node:path";
import { Disk } from "flydrive";
import { FSDriver } from "flydrive/drivers/fs";
import { AppError, type Config, type Env, newId } from "../platform/index.ts";

/** The error of a failed read or write of the image store; the original error is its cause. */
export function storageFailure(cause: unknown): AppError {
  return new AppError("storage_unavailable", undefined, { cause });
}

export interface FoundObject {
  readonly sizeBytes: number;
  readonly modifiedAt: Date;
}

/** Size and age of an object, or null when it is not there. Throws `storage_unavailable`. */
export async function findObject(disk: Disk, key: string): Promise<FoundObject | null> {
  try {
    const { contentLength, lastModified } = await disk.getMetaData(key);
    return { sizeBytes: contentLength, modifiedAt: lastModified };
  } catch (error) {
    if (await isAbsent(disk, key)) return null;
    throw storageFailure(error);
  }
}

async function isAbsent(disk: Disk, key: string): Promise<boolean> {
  try {
    return !(await disk.exists(key));
  } catch (error) {
    throw storageFailure(error);
  }
}

/** Every key below `prefix`, page by page. Throws `storage_unavailable`. */
export async function* listObjectKeys(disk: Disk, prefix: string): AsyncGenerator<string[]> {
  let paginationToken: string | undefined;
  do {
    const page = await listPage(disk, prefix, paginationToken);
    yield page.keys;
    paginationToken = page.next;
  } while (paginationToken);
}

async function listPage(disk: Disk, prefix: string, paginationToken: string | undefined) {
  try {
    const options = paginationToken ? { recursive: true, paginationToken } : { recursive: true };
    const page = await disk.listAll(`${prefix}/`, options);
    const keys = [...page.objects].filter((object) => object.isFile).map((object) => object.key);
    return { keys, next: page.paginationToken };
  } catch (error) {
    throw storageFailure(error);
  }
}

/** Writes, reads and removes a tiny object, as only that shows a full or read-only store. Throws `storage_unavailable`. */
export async function probeDisk(disk: Disk): Promise<void> {
  const key = `health/${newId()}`;
  try {
    await disk.put(key, "ok");
    try {
      await disk.get(key);
    } finally {
      await disk.delete(key);
    }
  } catch (error) {
    throw storageFailure(error);
  }
}

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
  const results = await Promise.allSettled(
    objects.map(({ key, bytes, mime }) => disk.put(key, bytes, { contentType: mime })),
  );
  const failed = results.find((result) => result.status === "rejected");
  if (failed) throw storageFailure(failed.reason);
  if (disk.driver instanceof DurableDriver) await syncFolders(disk.driver.root, objects);
}

/** Files below a folder, each written to a temporary name, flushed and renamed: the final name always has all bytes. */
class DurableDriver extends FSDriver {
  readonly root: string;

  constructor(root: string) {
    super({ location: root, visibility: "private" });
    this.root = root;
  }

  override async put(key: string, contents: string | Uint8Array): Promise<void> {
    const file = path.join(this.root, key);
    await mkdir(path.dirname(file), { recursive: true, mode: 0o700 });
    const draft = `${file}.${newId()}.part`;
    try {
      const handle = await open(draft, "wx", 0o600);
      try {
        await handle.writeFile(contents);
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
}

/** Flushes the folders, which hold the file names: without it a power cut can lose the name of a flushed file. */
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

/**
 * Removes every object below a key prefix (without a closing slash), and empty parent folders, so that they do not pile
 * up. Nothing there is no error. Throws `storage_unavailable`.
 */
export async function removePrefix(disk: Disk, prefix: string): Promise<void> {
  try {
    await disk.deleteAll(prefix);
    if (disk.driver instanceof DurableDriver) await removeEmptyParents(disk.driver.root, prefix);
  } catch (error) {
    throw storageFailure(error);
  }
}

async function removeEmptyParents(root: string, prefix: string): Promise<void> {
  for (let parent = path.posix.dirname(prefix); parent.includes("/"); parent = path.posix.dirname(parent)) {
    try {
      await rmdir(path.join(root, parent));
    } catch {
      // Not empty, or already gone: in both cases the folders above must stay.
      return;
    }
  }
}

interface SpaceInput {
  readonly env: Pick<Env, "ATELIER_DATA_DIR">;
  readonly config: Pick<Config, "limits">;
}

export interface FreeSpace {
  /** Of the fuller of the disks that hold stored and temporary files. */
  readonly freeBytes: number;
  /** Whether that is above `config.limits.minFreeBytes`. */
  readonly isEnough: boolean;
}

/** Free space for new files. Throws the system's error when the data folder is not available. */
export async function readFreeSpace({ env, config }: SpaceInput): Promise<FreeSpace> {
  const disks = await Promise.all(
    ["files", "tmp"].map((name) => statfs(path.resolve(env.ATELIER_DATA_DIR, name))),
  );
  const freeBytes = Math.min(...disks.map(({ bavail, bsize }) => bavail * bsize));
  return { freeBytes, isEnough: freeBytes >= config.limits.minFreeBytes };
}

/** Throws `storage_full` before a disk is so full that jobs and the database could not write. */
export async function requireFreeSpace(input: SpaceInput): Promise<void> {
  const { isEnough } = await readFreeSpace(input);
  if (!isEnough) throw new AppError("storage_full");
}

type DataFolder = Pick<Env, "ATELIER_DATA_DIR">;

/** Opens the image store: files below `<data>/files`. */
export function openDisk(env: DataFolder): Disk {
  return new Disk(new DurableDriver(path.resolve(env.ATELIER_DATA_DIR, "files")));
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
