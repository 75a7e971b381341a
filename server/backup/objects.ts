import { rm } from "node:fs/promises";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { withSnapshot } from "../db/index.ts";
import { mimeOfKey, objectKey, variants } from "../images/index.ts";
import { AppError, isAppError } from "../platform/index.ts";
import { findObject, type ImageDisk, openObject, putAll, storageFailure } from "../storage/index.ts";
import type { BackUpInput } from "./back-up.ts";
import {
  type BackupObject,
  linesOf,
  listFile,
  type Manifest,
  readLines,
  readList,
  readObject,
  writeFile,
  writeObject,
} from "./folder.ts";
import { progressOf, type Steps } from "./steps.ts";

/** The pictures of the snapshot, for the copy of their files; removed at its end. */
export const pictureRowsFile = "images.part";

/** What the copy of a picture needs of its row. */
export interface PictureRow {
  readonly id: string;
  readonly storage_key: string;
  readonly mime: string;
  readonly stored_sha256: string;
}

/** Pictures that are copied at once: most are small, so the way to the server is what takes time. */
const atOnce = 8;

async function* batchesOf<T>(source: AsyncIterable<unknown>): AsyncGenerator<T[]> {
  let batch: T[] = [];
  for await (const each of source) {
    // Safe: both lists were written by this program and checked where they come from outside.
    batch.push(each as T);
    if (batch.length < atOnce) continue;
    yield batch;
    batch = [];
  }
  if (batch.length > 0) yield batch;
}

interface SaveInput extends BackUpInput {
  readonly steps: Steps;
  readonly total: number;
}

type Saved = Pick<Manifest, "pictures" | "deleted" | "damaged">;

/** Copies the files of the listed pictures, three each, and writes the list of them. */
export async function savePictures(input: SaveInput): Promise<Saved> {
  const { folder, signal, total, onProgress } = input;
  const sums = { objects: 0, totalBytes: 0 };
  const broken: string[] = [];
  let done = 0;
  async function* saved(): AsyncGenerator<BackupObject[]> {
    for await (const batch of batchesOf<PictureRow>(readLines(folder, pictureRowsFile))) {
      signal.throwIfAborted();
      for (const { id, isWhole, objects } of await Promise.all(batch.map((row) => savePicture(row, input)))) {
        if (!isWhole) broken.push(id);
        sums.objects += objects.length;
        sums.totalBytes += objects.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0);
        yield objects;
      }
      onProgress({ what: "pictures", done: (done += batch.length), total });
    }
  }
  const written = await writeFile(folder, listFile, { from: linesOf(saved()), signal });
  await rm(path.join(folder, pictureRowsFile));
  const alive = await stillThere(input, broken);
  return {
    pictures: { ...written, ...sums },
    deleted: broken.filter((id) => !alive.has(id)),
    damaged: broken.filter((id) => alive.has(id)),
  };
}

interface SavedPicture {
  readonly id: string;
  /** False when a file is missing or is not as the row says. */
  readonly isWhole: boolean;
  readonly objects: BackupObject[];
}

async function savePicture(row: PictureRow, input: SaveInput): Promise<SavedPicture> {
  const stored = { storageKey: row.storage_key, mime: row.mime };
  const objects: BackupObject[] = [];
  for (const variant of variants) {
    const key = objectKey(stored, variant);
    const object = await saveObject(key, input);
    const isAsStored = variant !== "original" || object?.sha256 === row.stored_sha256;
    if (object && isAsStored) objects.push({ imageId: row.id, key, ...object });
  }
  return { id: row.id, isWhole: objects.length === variants.length, objects };
}

/** A read may be repeated: of a large store some connection is lost. */
const readTries = 3;
const restMs = 1_000;

type Content = Pick<BackupObject, "sizeBytes" | "sha256">;

async function saveObject(key: string, { disk, folder, signal, steps }: SaveInput): Promise<Content | null> {
  for (let tries = 1; ; tries += 1) {
    try {
      const found = await openObject(disk, key);
      return (
        found && (await writeObject(folder, { from: found.stream, through: [progressOf(steps)], signal }))
      );
    } catch (error) {
      signal.throwIfAborted();
      if (tries === readTries) throw isAppError(error) ? error : storageFailure(error);
      await sleep(restMs * tries, undefined, { signal });
    }
  }
}

/**
 * Those of the pictures that still have a row: their files were missing before the backup. Rows are deleted before their
 * files, so the others were deleted while it was made.
 */
function stillThere({ databaseUrl: url, signal }: SaveInput, ids: readonly string[]): Promise<Set<string>> {
  const list = ids.map((id) => `'${id}'`).join(",");
  return withSnapshot({
    url,
    signal,
    async run(snapshot) {
      if (ids.length === 0) return new Set();
      const rows = await snapshot.read<{ id: string }>(`select id from images where id in (${list})`);
      return new Set(rows.map(({ id }) => id));
    },
  });
}

interface PutInput {
  readonly folder: string;
  readonly disk: ImageDisk;
  readonly manifest: Manifest;
  readonly steps: Steps;
  readonly onProgress: BackUpInput["onProgress"];
}

/**
 * Puts the pictures of a backup into a store; those that are there with the same size stay. Objects never change, and a
 * store has them whole or not at all. Returns the ids of pictures whose bytes in the backup are not as they were written.
 */
export async function putPictures(input: PutInput): Promise<Set<string>> {
  const { folder, disk, manifest } = input;
  const deleted = new Set(manifest.deleted);
  return eachObject(input, async (object) => {
    if (deleted.has(object.imageId)) return true;
    const isThere = (await findObject(disk, object.key))?.sizeBytes === object.sizeBytes;
    if (isThere) return true;
    const bytes = await readObject(folder, object);
    if (bytes) await putAll(disk, [{ key: object.key, bytes, mime: mimeOfKey(object.key) }]);
    return bytes !== null;
  });
}

/** Reads all pictures of a backup. Returns the ids of those that are not as they were written. */
export async function checkPictures(input: Omit<PutInput, "disk">): Promise<Set<string>> {
  return eachObject(input, async (object) => (await readObject(input.folder, object)) !== null);
}

async function eachObject(
  { folder, manifest, steps, onProgress }: Omit<PutInput, "disk">,
  isWhole: (object: BackupObject) => Promise<boolean>,
): Promise<Set<string>> {
  const damaged = new Set<string>();
  const total = manifest.pictures.objects;
  const sums = { objects: 0, totalBytes: 0 };
  for await (const batch of batchesOf<BackupObject>(readList(folder))) {
    steps.signal.throwIfAborted();
    const whole = await Promise.all(batch.map(isWhole));
    for (const [at, { imageId }] of batch.entries()) if (!whole[at]) damaged.add(imageId);
    sums.objects += batch.length;
    sums.totalBytes += batch.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0);
    steps.moved();
    onProgress({ what: "pictures", done: sums.objects, total });
  }
  requireSums(sums, manifest.pictures);
  return damaged;
}

interface Sums {
  readonly objects: number;
  readonly totalBytes: number;
}

/** The list has the hash of the manifest, so both were changed, or written by another program. */
function requireSums(found: Sums, wanted: Sums): void {
  if (found.objects === wanted.objects && found.totalBytes === wanted.totalBytes) return;
  throw new AppError(
    "bad_request",
    "The backup is damaged: the sums of the manifest are not those of its list of pictures.",
  );
}
