import { and, eq, inArray, isNull, lt, type SQL, sql } from "drizzle-orm";
import { ago, type Db, schema, type Tx } from "../db/index.ts";
import { removeImages, restoreImages } from "../images/index.ts";
import { AppError, isId } from "../platform/index.ts";
import type { Services } from "../services.ts";
import { cancelBatch } from "./change.ts";
import type { BatchAddress } from "./read.ts";

const { batches, batchJobs, batchSteps, images, jobOutputs } = schema;

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
  const { id, ownerId } = address;
  // Together: a batch that is gone from all lists is not removed again.
  return services.db.transaction(async (tx) => {
    const removed = await tx
      .update(batches)
      // The column would round up, and its pictures, whose column keeps the microseconds, count as deleted before it.
      .set({ deletedAt: sql`date_trunc('milliseconds', now())` })
      // Of two at once the later one would set a time after that of the pictures, and they would not come back.
      .where(and(eq(batches.id, id), isNull(batches.deletedAt)))
      .returning({ id: batches.id });
    if (removed.length === 0) throw new AppError("not_found");
    const ids = await readResults(tx, id);
    return { id, imageIds: await removeImages({ db: tx }, { ownerId, ids }) };
  });
}

/**
 * Takes the removal back within `config.retention.undoDeleteMs`, with the results that were not deleted before it. Throws
 * `not_found` after that time, and what `restoreImages` throws; nothing is back then.
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
  const results = await readResults(db, id);
  const own = await db
    .select({ id: images.id })
    .from(images)
    .where(and(inArray(images.id, results), sql`${images.deletedAt} >= ${batch.deletedAt}`));
  const takeBack = async (tx: Tx) => {
    await tx.update(batches).set({ deletedAt: null }).where(eq(batches.id, id));
  };
  const ids = own.map((image) => image.id);
  return { id, imageIds: await restoreImages(services, { ownerId, ids, takeBack }) };
}

/** The jobs of batches, also those that stood in a place before their steps. */
const jobsOf = (
  batchId: SQL,
) => sql`(select ${batchJobs.jobId} from ${batchJobs} where ${batchJobs.batchId} = ${batchId}
  union all select ${batchSteps.sourceJobId} from ${batchSteps} where ${batchSteps.batchId} = ${batchId})`;

async function readResults(db: Db | Tx, batchId: string): Promise<string[]> {
  const rows = await db
    .select({ id: jobOutputs.imageId })
    .from(jobOutputs)
    .where(sql`${jobOutputs.jobId} in ${jobsOf(sql`${batchId}`)}`);
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
    from ${batches} join ${jobOutputs} on ${jobOutputs.jobId} in ${jobsOf(sql`${batches.id}`)}
    where ${isDue} and ${images.id} = ${jobOutputs.imageId} and ${images.deletedAt} is null
      and coalesce(${images.addedAt}, ${images.createdAt}) >= ${batches.deletedAt}`);
  const gone = await db.delete(batches).where(isDue).returning({ id: batches.id });
  return gone.length;
}
