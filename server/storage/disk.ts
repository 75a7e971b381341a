import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { AppError, type Env, newId } from "../platform/index.ts";
import { type FoundObject, hashOf, ImageDisk, type ListedObject, type OpenObject } from "./driver.ts";
import { LocalDriver } from "./local.ts";

/** The error of a failed read or write of the image store; the original error is its cause. */
export function storageFailure(cause: unknown): AppError {
  return new AppError("storage_unavailable", undefined, { cause });
}

async function orFailure<T>(work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    throw storageFailure(error);
  }
}

type StoreEnv = Pick<
  Env,
  | "ATELIER_DATA_DIR"
  | "S3_BUCKET"
  | "S3_ENDPOINT"
  | "S3_PUBLIC_ENDPOINT"
  | "S3_REGION"
  | "S3_ACCESS_KEY_ID"
  | "S3_SECRET_ACCESS_KEY"
  | "S3_DOWNLOADS"
> &
  Partial<Pick<Env, "S3_FORCE_PATH_STYLE">>;

/** Opens the image store: the bucket `S3_BUCKET`, else files below `<data>/files`. Connects to nothing. */
export async function openDisk(env: StoreEnv): Promise<ImageDisk> {
  return env.S3_BUCKET === undefined ? openLocalDisk(env) : openBucket({ ...env, S3_BUCKET: env.S3_BUCKET });
}

export function openLocalDisk({ ATELIER_DATA_DIR: dataDir }: Pick<Env, "ATELIER_DATA_DIR">): ImageDisk {
  return new ImageDisk(new LocalDriver(path.resolve(dataDir, "files")));
}

/** Loaded late: most installations have no bucket, and the client library costs 39 MB of memory and 0.15 s (measured). */
export async function openBucket(env: StoreEnv & { readonly S3_BUCKET: string }): Promise<ImageDisk> {
  const { BucketDriver } = await import("./bucket.ts");
  return new ImageDisk(new BucketDriver(env));
}

/** Size and age of an object, or null when it is not there. Throws `storage_unavailable`. */
export function findObject(disk: ImageDisk, key: string): Promise<FoundObject | null> {
  return orFailure(disk.driver.find(key));
}

/** Opens an object by one request, or null when it is not there. Throws `storage_unavailable`. */
export function openObject(disk: ImageDisk, key: string): Promise<OpenObject | null> {
  return orFailure(disk.open(key));
}

/** SHA-256 of an object in lower-case hex, or null when it is not there. Throws `storage_unavailable`. */
export async function hashObject(disk: ImageDisk, key: string): Promise<string | null> {
  const found = await openObject(disk, key);
  return found && orFailure(hashOf(found.stream));
}

/** Every object below `prefix/`, page by page. Throws `storage_unavailable`. */
export async function* listObjects(disk: ImageDisk, prefix: string): AsyncGenerator<ListedObject[]> {
  let token: string | undefined;
  do {
    const page = await orFailure(disk.driver.listPage(prefix, token));
    yield page.objects;
    token = page.next;
  } while (token !== undefined);
}

/** Writes, reads and removes a tiny object, as only that shows a full or read-only store. Throws `storage_unavailable`. */
export async function probeDisk(disk: ImageDisk): Promise<void> {
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

/** What time the store has, which dates its objects: its machine's clock, or this one's, may be wrong. Null: it takes no object now, as when full. */
export async function readStoreClock(disk: ImageDisk): Promise<number | null> {
  const key = `health/${newId()}`;
  try {
    await disk.put(key, "ok");
    return (await findObject(disk, key))?.modifiedAt.getTime() ?? null;
  } catch {
    return null;
  } finally {
    await disk.delete(key).catch(() => undefined);
  }
}

const listTries = 3;
const listRestMs = 500;

/**
 * Whether the store lists what it holds. One whose address names the bucket as well takes objects and gives them out, and lists none,
 * so that nothing would ever be removed. Throws `storage_unavailable`.
 */
export async function probeList(disk: ImageDisk): Promise<boolean> {
  const folder = `health/${newId()}`;
  const key = `${folder}/listed`;
  await orFailure(disk.put(key, "ok"));
  try {
    for (let tries = 1; !(await isInList(disk, folder, key)); tries += 1) {
      if (tries === listTries) return false;
      await sleep(listRestMs);
    }
    return true;
  } finally {
    await disk.delete(key).catch(() => undefined);
  }
}

async function isInList(disk: ImageDisk, prefix: string, key: string): Promise<boolean> {
  for await (const page of listObjects(disk, prefix)) if (page.some((one) => one.key === key)) return true;
  return false;
}

export interface NewObject {
  readonly key: string;
  readonly bytes: Buffer;
  readonly mime: string;
}

/**
 * Writes all objects and returns when no write is under way any more, also when one failed. Each object appears whole
 * or not at all and outlives a power cut: a row must never name a shorter file. Throws `storage_unavailable`.
 */
export async function putAll(disk: ImageDisk, objects: readonly NewObject[]): Promise<void> {
  const results = await Promise.allSettled(
    objects.map(({ key, bytes, mime }) => disk.put(key, bytes, { contentType: mime })),
  );
  const failed = results.find((result) => result.status === "rejected");
  if (failed) throw storageFailure(failed.reason);
  await orFailure(disk.driver.flush(objects.map(({ key }) => key)));
}

/** Removes every object below a key prefix (without a closing slash). Nothing there is no error. Throws `storage_unavailable`. */
export function removePrefix(disk: ImageDisk, prefix: string): Promise<void> {
  return orFailure(disk.driver.removeBelow(prefix));
}

/**
 * Ends uploads below a key prefix that a process began before a time and left behind, and returns how many. Throws
 * `storage_unavailable`, also where the store knows none or gives the key no right to them.
 */
export function endUploads(disk: ImageDisk, prefix: string, begunBefore: Date): Promise<number> {
  return orFailure(disk.driver.endUploads(prefix, begunBefore));
}
