import { and, eq, exists, gt, inArray, isNotNull, lt, not, notExists, or, sql } from "drizzle-orm";
import { ago, finalStatuses, schema, type Tx } from "../db/index.ts";
import type { Services } from "../services.ts";
import { removePrefix } from "../storage/index.ts";
import { discardObjects } from "./outputs.ts";
import { restorableSince } from "./quota.ts";

const { batches, batchSteps, boardImages, clientFiles, editMasks, edits, images, imageTags } = schema;
const { jobInputs, jobOutputs, jobs, linkImages, wardrobeItems } = schema;

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
 * Deletes the rows of pictures that no job has as input or result, and that were deleted or are in no use (`isUnused`). Returns
 * the key prefixes of their objects, which the caller removes after the commit with `discardObjects`.
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
        or(isNotNull(images.deletedAt), isUnused(tx)),
      ),
    )
    .returning({ storageKey: images.storageKey });
  return deleted.map(({ storageKey }) => storageKey);
}

/** Tables whose rows go with their picture, so that it stays as long as there is one: what its owner or a client did with it. */
const keeping = [boardImages, clientFiles, editMasks, imageTags, linkImages, wardrobeItems] as const;

/** Nothing that an owner would miss hangs on the picture, and no step of a batch is to take it. */
function isUnused(tx: Tx) {
  return and(
    not(images.starred),
    eq(images.rating, 0),
    ...keeping.map((links) => notExists(uses(tx, links))),
    notExists(editsOf(tx)),
    notExists(stepUses(tx)),
  );
}

/** Edits that began with the picture of the outer query, or have it as a version. */
function editsOf(tx: Tx) {
  const isOf = or(eq(edits.imageId, images.id), sql`${images.id} = any(${edits.versionIds})`);
  return tx
    .select({ one: sql`1` })
    .from(edits)
    .where(and(eq(edits.ownerId, images.ownerId), isOf));
}

/** Pictures of one transaction. */
const purgeBatchSize = 100;

/**
 * Purges images whose time for undo is over, and masks that no job used or made within that time and neither an edit nor a
 * coming step of a batch names.
 * Inputs of open jobs stay until these end; ended jobs lose their link to the image. Returns the number of purged images.
 */
export async function purgeDeleted(
  services: Pick<Services, "db" | "disk" | "log" | "config">,
): Promise<number> {
  let purged = 0;
  for (let after: string | null = firstId; after !== null;) {
    const begin: string = after;
    const batch = await services.db.transaction((tx) => purgeBatch(services, tx, begin));
    await discardObjects(services, batch.storageKeys);
    purged += batch.storageKeys.length;
    after = batch.last;
  }
  return purged;
}

/** Before all others. */
const firstId = "00000000-0000-0000-0000-000000000000";

interface PurgedBatch {
  readonly storageKeys: readonly string[];
  /** Where the next one begins: what cannot be removed, such as a starred mask, holds up none behind it. Null: it was the last. */
  readonly last: string | null;
}

async function purgeBatch(services: Pick<Services, "config">, tx: Tx, after: string): Promise<PurgedBatch> {
  const { undoDeleteMs, orphanObjectMs } = services.config.retention;
  const isOver = sql`${images.deletedAt} < ${restorableSince(services.config)}`;
  const due = await tx
    .select({ id: images.id })
    .from(images)
    .where(
      and(
        gt(images.id, after),
        or(
          and(lt(images.deletedAt, ago(undoDeleteMs)), isOver, notExists(openUses(tx))),
          and(
            eq(images.role, "mask"),
            lt(images.createdAt, ago(orphanObjectMs)),
            notExists(uses(tx, jobInputs)),
            notExists(uses(tx, jobOutputs)),
            notExists(uses(tx, editMasks)),
            notExists(stepUses(tx)),
          ),
        ),
      ),
    )
    .orderBy(images.id)
    .limit(purgeBatchSize)
    .for("update", { skipLocked: true });
  const ids = due.map(({ id }) => id);
  const last = ids.length < purgeBatchSize ? null : (ids.at(-1) ?? null);
  if (ids.length === 0) return { storageKeys: [], last };
  await tx.delete(jobInputs).where(and(inArray(jobInputs.imageId, ids), exists(jobOf(tx, "ended"))));
  await tx.delete(jobOutputs).where(inArray(jobOutputs.imageId, ids));
  return { storageKeys: await deleteUnusedRows(tx, ids), last };
}

/** Steps of batches that have not begun and take the picture of the outer query. */
function stepUses(tx: Tx) {
  return tx
    .select({ one: sql`1` })
    .from(batchSteps)
    .innerJoin(batches, and(eq(batches.id, batchSteps.batchId), eq(batches.ownerId, images.ownerId)))
    .where(
      sql`${batchSteps.begunAt} is null and exists (select from jsonb_each_text(${batchSteps.request}->'inputs') as named
        where named.value = ${images.id}::text)`,
    );
}

/** Rows that name the picture of the outer query. */
function uses(tx: Tx, links: typeof jobInputs | typeof jobOutputs | (typeof keeping)[number]) {
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
