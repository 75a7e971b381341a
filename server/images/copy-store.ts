import path from "node:path";
import { buffer } from "node:stream/consumers";
import { AppError } from "../platform/index.ts";
import {
  findObject,
  hashObject,
  type ImageDisk,
  type ListedObject,
  listObjects,
  openObject,
  putAll,
  removePrefix,
  storageFailure,
} from "../storage/index.ts";
import { mimeOfKey } from "./image.ts";
import { markKey, readMark } from "./store-mark.ts";

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
  /** The last copy, with all processes stopped: the mark moves along, so that the old store is refused from then on. */
  readonly isMove: boolean;
  readonly onProgress: (progress: CopyProgress) => void;
}

/**
 * Copies every object of a store that is not yet in the other one. May be run again at any time and goes on where it was
 * ended. Objects never change, so one of the same size is the same. Nobody uses a copy without the mark of the store,
 * which a move takes along at its end. Throws `storage_unavailable`, `conflict` when one of the stores is the wrong one.
 */
export async function copyStore(input: CopyInput): Promise<CopyProgress> {
  const { from, to, isVerified, isMove, onProgress } = input;
  const mark = await requireMarks(from, to);
  const total = { copied: 0, skipped: 0, copiedBytes: 0 };
  const copy = async ({ key, readMetaData }: ListedObject) => {
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
      for (let at = 0; at < page.length; at += atOnce) await allEnded(page.slice(at, at + atOnce).map(copy));
    }
  }
  if (isMove) {
    await putAll(to, [{ key: markKey, bytes: Buffer.from(mark), mime: "text/plain" }]);
    await removePrefix(from, path.posix.dirname(markKey));
  }
  return total;
}

/** Waits until all copies have ended, also when one fails: a next try must not meet one of this try. Throws what the first failed one threw. */
async function allEnded(copies: readonly Promise<void>[]): Promise<void> {
  const results = await Promise.allSettled(copies);
  const failed = results.find((result) => result.status === "rejected");
  if (failed) throw failed.reason;
}

/** The mark of the source, which the target has too or lacks. Throws `conflict`. */
async function requireMarks(from: ImageDisk, to: ImageDisk): Promise<string> {
  const [mark, other] = [await readMark(from), await readMark(to)];
  if (mark === null)
    throw new AppError(
      "conflict",
      "The source is not the store of a studio: it has no mark. Is it the right one? A studio marks its store when it starts.",
    );
  if (other !== null && other !== mark)
    throw new AppError("conflict", "The target is the store of another studio. Choose an empty one.");
  return mark;
}

interface CopiedObject {
  readonly from: ImageDisk;
  readonly to: ImageDisk;
  readonly key: string;
}

async function copyObject({ from, to, key }: CopiedObject): Promise<void> {
  const found = await openObject(from, key);
  if (!found) return;
  const bytes = await buffer(found.stream).catch((error: unknown) => {
    throw storageFailure(error);
  });
  await putAll(to, [{ key, bytes, mime: mimeOfKey(key) }]);
}

async function requireEqual({ from, to, key }: CopiedObject): Promise<void> {
  const [wanted, found] = await Promise.all([hashObject(from, key), hashObject(to, key)]);
  // Null when the picture was deleted meanwhile.
  if (wanted !== null && wanted !== found)
    throw new AppError("storage_unavailable", `${key} differs in the copy; remove it there and copy again`);
}
