import { and, eq, exists, inArray, isNotNull, lt, not, notExists, or, sql, type SQL } from "drizzle-orm";
import { type JobStatus, schema, type Tx } from "../db/index.ts";
import type { Services } from "../services/index.ts";
import { deleteUnusedRows } from "./delete-rows.ts";
import { discardObjects } from "./discard-output.ts";

const { images, jobInputs, jobOutputs, jobs } = schema;

/** Pictures of one transaction. */
const purgeBatchSize = 100;
const finalStatuses: JobStatus[] = ["completed", "failed", "cancelled"];

/**
 * Removes for good what was deleted longer ago than the time for undo, and masks that no job took within that time.
 * Inputs of open jobs stay until these end; ended jobs lose their link to the picture. Returns how many went.
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
  const due = await tx
    .select({ id: images.id })
    .from(images)
    .where(
      or(
        and(isNotNull(images.deletedAt), lt(images.deletedAt, ago(undoDeleteMs)), notExists(openUses(tx))),
        and(eq(images.role, "mask"), lt(images.createdAt, ago(orphanObjectMs)), notExists(uses(tx))),
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

/** By the clock of the database, which also wrote the times compared with it. */
function ago(ms: number): SQL {
  return sql`now() - ${ms} * interval '1 millisecond'`;
}

/** Links from any job to the picture of the outer query. */
function uses(tx: Tx) {
  return tx
    .select({ one: sql`1` })
    .from(jobInputs)
    .where(eq(jobInputs.imageId, images.id));
}

/** Links from jobs that still need it. */
function openUses(tx: Tx) {
  return tx
    .select({ one: sql`1` })
    .from(jobInputs)
    .where(and(eq(jobInputs.imageId, images.id), exists(jobOf(tx, "open"))));
}

function jobOf(tx: Tx, state: "open" | "ended") {
  const isEnded = inArray(jobs.status, finalStatuses);
  return tx
    .select({ one: sql`1` })
    .from(jobs)
    .where(and(eq(jobs.id, jobInputs.jobId), state === "ended" ? isEnded : not(isEnded)));
}
