import { createHash } from "node:crypto";
import { AppError } from "../platform/index.ts";
import {
  findObject,
  type ImageDisk,
  type ListedObject,
  listObjects,
  openObject,
  putAll,
} from "../storage/index.ts";
import { mimeOfKey } from "./image.ts";
import { markKey } from "./store-mark.ts";

/** Objects that are copied at once: most are small, so the way to the server is what takes time. */
const atOnce = 8;

export interface CopyProgress {
  readonly copied: number;
  /** Were there already, with the same size. */
  readonly skipped: number;
  readonly copiedBytes: number;
}

interface CopyInput {
  readonly from: ImageDisk;
  readonly to: ImageDisk;
  /** Reads both sides of every object and compares, also of those that were there already. */
  readonly isVerified: boolean;
  readonly onProgress: (progress: CopyProgress) => void;
}

/**
 * Copies every object of a store that is not yet in the other one, the mark of the store last: a store without it is
 * refused, so nobody uses half a copy. May be run again at any time and goes on where it was ended. Objects never change,
 * so one of the same size is the same. Throws `storage_unavailable`.
 */
export async function copyStore({ from, to, isVerified, onProgress }: CopyInput): Promise<CopyProgress> {
  const total = { copied: 0, skipped: 0, copiedBytes: 0 };
  const copy = async ({ key, readMetaData }: Pick<ListedObject, "key" | "readMetaData">) => {
    const found = await readMetaData();
    // Deleted since it was listed.
    if (!found) return;
    const isThere = (await findObject(to, key))?.sizeBytes === found.sizeBytes;
    if (isThere) {
      total.skipped += 1;
    } else {
      await copyObject({ from, to, key });
      total.copied += 1;
      total.copiedBytes += found.sizeBytes;
    }
    if (isVerified) await requireEqual({ from, to, key });
    onProgress({ ...total });
  };
  for (const root of ["users", "jobs"]) {
    for await (const page of listObjects(from, root)) {
      for (let at = 0; at < page.length; at += atOnce)
        await Promise.all(page.slice(at, at + atOnce).map(copy));
    }
  }
  await copy({ key: markKey, readMetaData: () => findObject(from, markKey) });
  return total;
}

interface CopiedObject {
  readonly from: ImageDisk;
  readonly to: ImageDisk;
  readonly key: string;
}

async function copyObject({ from, to, key }: CopiedObject): Promise<void> {
  const found = await openObject(from, key);
  if (!found) return;
  const chunks: Buffer[] = [];
  for await (const chunk of found.stream) chunks.push(chunk);
  await putAll(to, [{ key, bytes: Buffer.concat(chunks), mime: mimeOfKey(key) }]);
}

async function requireEqual({ from, to, key }: CopiedObject): Promise<void> {
  const [wanted, found] = await Promise.all([hashObject(from, key), hashObject(to, key)]);
  // Null when the picture was deleted meanwhile.
  if (wanted !== null && wanted !== found)
    throw new AppError("storage_unavailable", `${key} differs in the copy; remove it there and copy again`);
}

async function hashObject(disk: ImageDisk, key: string): Promise<string | null> {
  const found = await openObject(disk, key);
  if (!found) return null;
  const hash = createHash("sha256");
  for await (const chunk of found.stream) hash.update(chunk);
  return hash.digest("hex");
}
