import { buffer } from "node:stream/consumers";
import { sql } from "drizzle-orm";
import { schema, type Tx } from "../db/index.ts";
import { newId } from "../platform/index.ts";
import type { Services } from "../services.ts";
import { findObject, openObject, putAll, storageFailure } from "../storage/index.ts";
import { objectKey } from "./image.ts";

const { images, studio } = schema;

/** The object that marks the image store of an installation; its content stands in the database, too. */
export const markKey = "studio/mark";
/** A mark is a uuid. */
const maxMarkBytes = 100;

/** Whether the store of this process is the studio's; `away` when it cannot be read now. */
export type StoreState = "own" | "other" | "away";

/** What people read when the state is `other`. */
export const otherStoreReason =
  "The image store of this process is not the one of the studio. Set S3_BUCKET and the other S3_ names, or ATELIER_DATA_DIR, as for the other processes.";

type Marked = Pick<Services, "db" | "disk" | "log">;

/**
 * Compares the mark in the image store with the one in the database: two processes with different stores would lose each
 * other's pictures. The first process of an installation makes the mark. Throws only when the database is away.
 */
export async function checkStore(services: Marked): Promise<StoreState> {
  const { db, disk, log } = services;
  const [row] = await db.select({ mark: studio.storeMark }).from(studio);
  try {
    if (row?.mark) return (await readMark(disk)) === row.mark ? "own" : "other";
    return await db.transaction((tx) => makeMark(tx, disk));
  } catch (error) {
    if (!isStorageError(error)) throw error;
    log.warn({ err: error }, "the mark of the image store cannot be read");
    return "away";
  }
}

function isStorageError(error: unknown): boolean {
  return error instanceof Error && "code" in error && error.code === "storage_unavailable";
}

/** The content of the mark in a store; null without one. Throws `storage_unavailable`. */
export async function readMark(disk: Services["disk"]): Promise<string | null> {
  const found = await openObject(disk, markKey);
  if (!found) return null;
  if (found.sizeBytes > maxMarkBytes) {
    found.stream.destroy();
    return null;
  }
  try {
    return (await buffer(found.stream)).toString();
  } catch (error) {
    throw storageFailure(error);
  }
}

/** One process makes the mark while others wait for the row. */
async function makeMark(tx: Tx, disk: Services["disk"]): Promise<StoreState> {
  await tx.insert(studio).values({}).onConflictDoNothing();
  const [row] = await tx.select({ mark: studio.storeMark }).from(studio).for("update");
  const found = await readMark(disk);
  if (row?.mark) return found === row.mark ? "own" : "other";
  // Another installation's store: its sweep would remove our objects, and ours would remove its.
  if (found !== null) return "other";
  if (!(await hasNewestImage(tx, disk))) return "other";
  const mark = newId();
  await putAll(disk, [{ key: markKey, bytes: Buffer.from(mark), mime: "text/plain" }]);
  await tx.update(studio).set({ storeMark: mark });
  return "own";
}

/** An installation that is older than the mark: its store is the one that has the newest picture. */
async function hasNewestImage(tx: Tx, disk: Services["disk"]): Promise<boolean> {
  const [newest] = await tx
    .select({ storageKey: images.storageKey, mime: images.mime })
    .from(images)
    .orderBy(sql`${images.id} desc`)
    .limit(1);
  return !newest || (await findObject(disk, objectKey(newest, "original"))) !== null;
}
