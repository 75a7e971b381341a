import path from "node:path";
import { and, eq, exists, gt, inArray, isNotNull, lt, not, notExists, or, sql } from "drizzle-orm";
import { ago, type Db, finalStatuses, schema, type Tx } from "../db/index.ts";
import type { Duty } from "../leases/index.ts";
import type { Services } from "../services.ts";
import { endUploads, type ListedObject, listObjects, reasonOfStore, removePrefix } from "../storage/index.ts";
import { directUploadMs } from "./limits.ts";
import { discardObjects } from "./outputs.ts";
import { restorableSince } from "./quota.ts";
import { isOwnStore } from "./store-mark.ts";

const { clientFiles, editMasks, images, jobInputs, jobOutputs, jobs } = schema;

/** Locks these rows in the order of their ids and returns the ids that exist. */
export async function lockRows(tx: Tx, ids: readonly string[]): Promise<string[]> {
  if (ids.length === 0) return [];
  const locked = await tx
    .select({ id: images.id })
    .from(images)
    .where(inArray(images.id, [...ids]))
    .orderBy(images.id)
    .for("update");
  return locked.map(({ id }) => id);
}

/**
 * Deletes the rows of pictures that no job has as input or result, and that have no star and are no file of a client and no mask of an
 * edit or were deleted. Returns the key prefixes of their objects, which the caller removes after the commit with `discardObjects`.
 */
export async function deleteUnusedRows(tx: Tx, ids: readonly string[]): Promise<string[]> {
  // Locked in a separate statement: a submit that refers to the picture at this moment (FOR KEY SHARE) is either
  // seen by the delete below or waits for us and then finds the picture gone.
  const lockedIds = await lockRows(tx, ids);
  if (lockedIds.length === 0) return [];
  const deleted = await tx
    .delete(images)
    .where(
      and(
        inArray(images.id, lockedIds),
        notExists(uses(tx, jobInputs)),
        notExists(uses(tx, jobOutputs)),
        or(isNotNull(images.deletedAt), notExists(uses(tx, editMasks))),
        or(isNotNull(images.deletedAt), and(not(images.starred), notExists(uses(tx, clientFiles)))),
      ),
    )
    .returning({ storageKey: images.storageKey });
  return deleted.map(({ storageKey }) => storageKey);
}

/** Pictures of one transaction. */
const purgeBatchSize = 100;

/**
 * Purges images whose time for undo is over, and masks that no job used or made within that time
 * and no edit names.
 * Inputs of open jobs stay until these end; ended jobs lose their link to the image. Returns the number of purged images.
 */
export async function purgeDeleted(
  services: Pick<Services, "db" | "disk" | "log" | "config">,
): Promise<number> {
  let purged = 0;
  for (;;) {
    const storageKeys = await services.db.transaction((tx) => purgeBatch(services, tx));
    await discardObjects(services, storageKeys);
    purged += storageKeys.length;
    if (storageKeys.length < purgeBatchSize) return purged;
  }
}

async function purgeBatch(services: Pick<Services, "config">, tx: Tx): Promise<string[]> {
  const { undoDeleteMs, orphanObjectMs } = services.config.retention;
  const isOver = sql`${images.deletedAt} < ${restorableSince(services.config)}`;
  const due = await tx
    .select({ id: images.id })
    .from(images)
    .where(
      or(
        and(lt(images.deletedAt, ago(undoDeleteMs)), isOver, notExists(openUses(tx))),
        and(
          eq(images.role, "mask"),
          lt(images.createdAt, ago(orphanObjectMs)),
          notExists(uses(tx, jobInputs)),
          notExists(uses(tx, jobOutputs)),
          notExists(uses(tx, editMasks)),
        ),
      ),
    )
    .orderBy(images.id)
    .limit(purgeBatchSize)
    .for("update", { skipLocked: true });
  const ids = due.map(({ id }) => id);
  if (ids.length === 0) return [];
  await tx.delete(jobInputs).where(and(inArray(jobInputs.imageId, ids), exists(jobOf(tx, "ended"))));
  await tx.delete(jobOutputs).where(inArray(jobOutputs.imageId, ids));
  return deleteUnusedRows(tx, ids);
}

/** Links from any job, client or edit to the picture of the outer query. */
function uses(tx: Tx, links: typeof jobInputs | typeof jobOutputs | typeof clientFiles | typeof editMasks) {
  return tx
    .select({ one: sql`1` })
    .from(links)
    .where(eq(links.imageId, images.id));
}

/** Links from jobs that still need the image. */
function openUses(tx: Tx) {
  return tx
    .select({ one: sql`1` })
    .from(jobInputs)
    .where(and(eq(jobInputs.imageId, images.id), exists(jobOf(tx, "open"))));
}

function jobOf(tx: Tx, state: "open" | "ended") {
  const isEnded = inArray(jobs.status, [...finalStatuses]);
  return tx
    .select({ one: sql`1` })
    .from(jobs)
    .where(and(eq(jobs.id, jobInputs.jobId), state === "ended" ? isEnded : not(isEnded)));
}

/** Removes pictures for good, rows first; those with a job or a star stay. Returns how many were removed. */
export async function purgeImages(
  services: Pick<Services, "db" | "disk" | "log">,
  ids: readonly string[],
): Promise<number> {
  const storageKeys = await services.db.transaction((tx) => deleteUnusedRows(tx, ids));
  await discardObjects(services, storageKeys);
  return storageKeys.length;
}

/** Pictures whose objects are removed before their rows; few, since each costs requests to the store. */
const ownedBatchSize = 20;

/**
 * Removes all pictures of a user who is being deleted, whatever their star, except inputs of jobs that are still there.
 * Objects first: while the store is away the rows say what is left to remove. Ends early when the signal aborts. Throws
 * `storage_unavailable`.
 */
export async function removePicturesOf(
  { db, disk }: Pick<Services, "db" | "disk">,
  { ownerId, signal }: { readonly ownerId: string; readonly signal: AbortSignal },
): Promise<number> {
  const isFree = sql`${images.ownerId} = ${ownerId}
    and not exists (select 1 from ${jobInputs} link where link.image_id = ${images.id})`;
  let removed = 0;
  for (let after = ""; ;) {
    const batch = await db
      .select({ id: images.id, storageKey: images.storageKey })
      .from(images)
      .where(after === "" ? isFree : and(isFree, gt(images.id, after)))
      .orderBy(images.id)
      .limit(ownedBatchSize);
    const ids: string[] = [];
    for (const { id, storageKey } of batch) {
      if (signal.aborted) break;
      await removePrefix(disk, storageKey);
      ids.push(id);
    }
    if (ids.length > 0) await db.delete(images).where(and(inArray(images.id, ids), isFree));
    removed += ids.length;
    after = ids.at(-1) ?? "";
    if (ids.length < ownedBatchSize || signal.aborted) return removed;
  }
}

/** Key prefixes per statement. */
const orphanBatchSize = 500;

/** Only keys of these forms are ours to remove: `users/<owner>/<image>` and `jobs/<job>/<attempt or UUID>/<position>`. */
const ownedPrefix = /^(?:users\/[^/]+\/[0-9a-f-]{36}|jobs\/[0-9a-f-]{36}\/(?:\d+|[0-9a-f-]{36})\/\d+)$/;

/** What the keys of pictures begin with. */
const roots = ["users", "jobs"] as const;

/** Turn of the sweep of objects without a row. */
export const orphanTurn = "orphaned objects";
/** Pause after a sweep that failed, ms. */
const sweepRetryMs = 15 * 60_000;
/** A store with many millions of objects is listed for hours. */
const sweepMostMs = 12 * 60 * 60_000;

/** The sweep as a duty: it lists the whole store. Of another installation's objects none has a row here. */
export function orphanDuty({ config }: Pick<Services, "config">): Duty {
  return {
    name: orphanTurn,
    everyMs: config.retention.orphanSweepMs,
    retryMs: sweepRetryMs,
    mostMs: sweepMostMs,
    mayRun: isOwnStore,
    run: sweepOrphanObjects,
  };
}

type SweepServices = Pick<Services, "db" | "disk" | "log" | "config">;

/**
 * Removes objects that have no row and are older than `config.retention.orphanObjectMs`: what a process that died
 * between object and row left behind. Returns how many pictures' objects went. Ends early when the signal aborts.
 */
export async function sweepOrphanObjects(services: SweepServices, signal?: AbortSignal): Promise<number> {
  let removed = 0;
  for await (const batch of batchesOf(prefixes(services), orphanBatchSize)) {
    if (signal?.aborted) return removed;
    const known = await knownPrefixes(services.db, batch.keys().toArray());
    for (const [prefix, objects] of batch) {
      if (!known.has(prefix) && (await removeOrphan(services, prefix, objects))) removed += 1;
    }
  }
  await sweepUploads(services);
  return removed + (await sweepIncoming(services, signal));
}

/** No process sends one picture for so long. */
const uploadMostMs = 24 * 3_600_000;

/** Uploads in parts of processes that died. Not every store lists them, or lets the key end them. */
async function sweepUploads({ disk, log }: SweepServices): Promise<void> {
  const begunBefore = new Date(Date.now() - uploadMostMs);
  for (const root of roots) {
    const ended = await endUploads(disk, root, begunBefore).catch((error: unknown) => {
      log.debug({ reason: reasonOfStore(error) }, "unfinished uploads could not be ended");
      return 0;
    });
    if (ended > 0) log.info({ ended, root }, "ended unfinished uploads");
  }
}

/** Files of direct uploads whose row went with its owner: a row lives for an hour. */
async function sweepIncoming({ disk, config }: SweepServices, signal?: AbortSignal): Promise<number> {
  const newestBefore = Date.now() - config.retention.orphanObjectMs - directUploadMs;
  let removed = 0;
  for await (const page of listObjects(disk, "incoming")) {
    if (signal?.aborted) break;
    for (const { key, readMetaData } of page) {
      const found = await readMetaData();
      if (!found || found.modifiedAt.getTime() > newestBefore) continue;
      await removePrefix(disk, path.posix.dirname(key));
      removed += 1;
    }
  }
  return removed;
}

type Listed = [prefix: string, objects: ListedObject[]];

/** Each prefix of a picture with the objects below it. */
async function* prefixes({ disk }: Pick<Services, "disk">): AsyncGenerator<Listed> {
  for (const root of roots) {
    for await (const page of listObjects(disk, root)) {
      yield* Map.groupBy(page, ({ key }) => path.posix.dirname(key));
    }
  }
}

async function removeOrphan(
  services: SweepServices,
  prefix: string,
  objects: readonly ListedObject[],
): Promise<boolean> {
  if (!ownedPrefix.test(prefix)) return false;
  const newestBefore = Date.now() - services.config.retention.orphanObjectMs;
  for (const { readMetaData } of objects) {
    const found = await readMetaData();
    if (found && found.modifiedAt.getTime() > newestBefore) return false;
  }
  // Read again: the row may have been committed since the batch was asked for.
  if ((await knownPrefixes(services.db, [prefix])).size > 0) return false;
  await removePrefix(services.disk, prefix);
  services.log.info({ storageKey: prefix }, "removed objects without a row");
  return true;
}

async function knownPrefixes(db: Db, storageKeys: string[]): Promise<Set<string>> {
  const rows = await db
    .select({ storageKey: images.storageKey })
    .from(images)
    .where(inArray(images.storageKey, storageKeys));
  return new Set(rows.map(({ storageKey }) => storageKey));
}

async function* batchesOf(
  source: AsyncIterable<Listed>,
  size: number,
): AsyncGenerator<Map<string, ListedObject[]>> {
  let batch = new Map<string, ListedObject[]>();
  for await (const [prefix, objects] of source) {
    batch.set(prefix, [...(batch.get(prefix) ?? []), ...objects]);
    if (batch.size < size) continue;
    yield batch;
    batch = new Map();
  }
  if (batch.size > 0) yield batch;
}
