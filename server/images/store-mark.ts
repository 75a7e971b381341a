import { buffer } from "node:stream/consumers";
import { sql } from "drizzle-orm";
import { schema, type Tx } from "../db/index.ts";
import { isAppError, newId, keptBy, orLate } from "../platform/index.ts";
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

/** A store that hangs is away. */
const checkMs = 5_000;

/** When a process last compared its store to act on the answer, ms of the monotonic clock. */
const checkOf = keptBy((_disk: Services["disk"]) => ({ atMs: -Infinity }));

/** Whether to compare again: the pictures may have moved to another store while this process runs. */
export function isStoreCheckDue({ disk, config }: Pick<Services, "disk" | "config">): boolean {
  return performance.now() - checkOf(disk).atMs >= config.timing.probeMs;
}

/**
 * Compares the mark in the image store with the one in the database: two processes with different stores would lose each
 * other's pictures. The first process of an installation makes the mark. Throws only when the database is away.
 */
export function checkStore(services: Marked): Promise<StoreState> {
  checkOf(services.disk).atMs = performance.now();
  return readState(services);
}

/** Whether the store is the studio's now. For a single step: the process itself has to compare no later for it. */
export async function isOwnStore(services: Marked): Promise<boolean> {
  return (await readState(services)) === "own";
}

async function readState(services: Marked): Promise<StoreState> {
  try {
    return await orLate(compareMarks(services), checkMs, () => "away");
  } catch (error) {
    if (!isAppError(error) || error.code !== "storage_unavailable") throw error;
    services.log.warn({ err: error }, "the mark of the image store cannot be read");
    return "away";
  }
}

async function compareMarks({ db, disk }: Marked): Promise<StoreState> {
  const [row] = await db.select().from(studio);
  if (row?.storeMarkedAt) return (await readMark(disk)) === row.storeMark ? "own" : "other";
  // Committed before the object is written: a process that ends in between leaves a mark that the next one knows.
  const storeMark = sql`coalesce(${studio.storeMark}, excluded.store_mark)`;
  await db
    .insert(studio)
    .values({ storeMark: newId() })
    .onConflictDoUpdate({ target: studio.id, set: { storeMark } });
  return db.transaction((tx) => makeMark(tx, disk));
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

/** One process makes the mark while others wait for the row. Safe to repeat. */
async function makeMark(tx: Tx, disk: Services["disk"]): Promise<StoreState> {
  const [row] = await tx.select().from(studio).for("update");
  if (!row?.storeMark) return "away";
  const found = await readMark(disk);
  if (found !== row.storeMark) {
    // Another installation's store: its sweep would remove our objects, and ours would remove its.
    if (row.storeMarkedAt || found !== null || !(await hasImages(tx, disk))) return "other";
    await putAll(disk, [{ key: markKey, bytes: Buffer.from(row.storeMark), mime: "text/plain" }]);
  }
  await tx.update(studio).set({ storeMarkedAt: sql`now()` });
  return "own";
}

/** Single pictures may have lost their file. */
const probedImages = 20;

/** An installation that is older than the mark: its store is the one that has its newest pictures. */
async function hasImages(tx: Tx, disk: Services["disk"]): Promise<boolean> {
  const newest = await tx
    .select({ storageKey: images.storageKey, mime: images.mime })
    .from(images)
    .orderBy(sql`${images.id} desc`)
    .limit(probedImages);
  for (const image of newest) if (await findObject(disk, objectKey(image, "original"))) return true;
  return newest.length === 0;
}
