import { and, eq, inArray, lt, sql } from "drizzle-orm";
import { schema } from "../db/index.ts";
import { removeImages, restoreImages } from "../images/index.ts";
import { AppError, isId } from "../platform/index.ts";
import type { Services } from "../services.ts";
import { type BatchAddress, cancelBatch } from "./read.ts";

const { batches, batchJobs, images, jobOutputs } = schema;

/** What was removed with a batch, or is back with it. */
export interface BatchRemoval {
  readonly id: string;
  /** Its results. */
  readonly imageIds: readonly string[];
}

/**
 * Stops what is open of a batch, and marks it and its results as deleted, so that they can be restored for a while. Its
 * jobs stay in the list of jobs, as those of other deleted pictures do. Throws `not_found`.
 */
export async function removeBatch(services: Services, address: BatchAddress): Promise<BatchRemoval> {
  await cancelBatch(services, address);
  await services.db
    .update(batches)
    .set({ deletedAt: sql`now()` })
    .where(eq(batches.id, address.id));
  const ids = await readResults(services, address.id);
  return { id: address.id, imageIds: await removeImages(services, { ownerId: address.ownerId, ids }) };
}

/**
 * Takes the removal back within `config.retention.undoDeleteMs`, with the results that were not deleted before it. Throws
 * `not_found` after that time, and what `restoreImages` throws; the batch is back then all the same.
 */
export async function restoreBatch(services: Services, { ownerId, id }: BatchAddress): Promise<BatchRemoval> {
  if (!isId(id)) throw new AppError("not_found");
  const { undoDeleteMs } = services.config.retention;
  const { db } = services;
  const [batch] = await db
    .select({ deletedAt: batches.deletedAt })
    .from(batches)
    .where(
      and(
        eq(batches.id, id),
        eq(batches.ownerId, ownerId),
        sql`(${batches.deletedAt} is null or ${batches.deletedAt} > ${ago(undoDeleteMs)})`,
      ),
    );
  if (!batch) throw new AppError("not_found");
  if (batch.deletedAt === null) return { id, imageIds: [] };
  const results = await readResults(services, id);
  const own = await db
    .select({ id: images.id })
    .from(images)
    .where(and(inArray(images.id, results), sql`${images.deletedAt} >= ${batch.deletedAt}`));
  await db.update(batches).set({ deletedAt: null }).where(eq(batches.id, id));
  const imageIds = await restoreImages(services, { ownerId, ids: own.map((image) => image.id) });
  return { id, imageIds };
}

async function readResults({ db }: Services, batchId: string): Promise<string[]> {
  const rows = await db
    .select({ id: jobOutputs.imageId })
    .from(batchJobs)
    .innerJoin(jobOutputs, eq(jobOutputs.jobId, batchJobs.jobId))
    .where(eq(batchJobs.batchId, batchId));
  return rows.map(({ id }) => id);
}

/**
 * A duty: removes batches whose time for undo is over, and marks what a job of theirs still made after the removal, since a
 * result that comes in spite of a cancel is kept. Returns how many batches are gone.
 */
export async function purgeBatches(services: Pick<Services, "db" | "config">): Promise<number> {
  const { db, config } = services;
  const isDue = lt(batches.deletedAt, ago(config.retention.undoDeleteMs));
  await db.execute(sql`
    update ${images} set deleted_at = now()
    from ${batches} join ${batchJobs} on ${batchJobs.batchId} = ${batches.id} join ${jobOutputs} on ${jobOutputs.jobId} = ${batchJobs.jobId}
    where ${isDue} and ${images.id} = ${jobOutputs.imageId} and ${images.deletedAt} is null
      and ${images.createdAt} >= ${batches.deletedAt}`);
  const gone = await db.delete(batches).where(isDue).returning({ id: batches.id });
  return gone.length;
}

/** By the clock of the database, which also wrote the times compared with it. */
function ago(ms: number) {
  return sql`now() - ${ms} * interval '1 millisecond'`;
}
