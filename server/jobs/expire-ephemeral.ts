import { eq, sql } from "drizzle-orm";
import { schema, type Tx } from "../db/index.ts";
import { deleteUnusedRows, discardObjects, lockRows } from "../images/index.ts";
import { keepFigures } from "../monitoring/index.ts";
import type { Services } from "../services/index.ts";

/**
 * Removes ephemeral jobs whose client has the result in full: acknowledged, or some time after a complete answer, or
 * long after their end; with them their inputs and results, unless another job uses them (A8).
 */
export async function expireEphemeral(services: Services): Promise<string[]> {
  const { ephemeralAfterAnswerMs, ephemeralMaxMs } = services.config.retention;
  const { jobs } = schema;
  const due = await services.db
    .select({ id: jobs.id })
    .from(jobs)
    .where(sql`${jobs.retention} = 'ephemeral' and ${jobs.endedAt} is not null and (
      ${jobs.ackedAt} is not null
      or ${jobs.answeredAt} < now() - ${ephemeralAfterAnswerMs} * interval '1 millisecond'
      or ${jobs.endedAt} < now() - ${ephemeralMaxMs} * interval '1 millisecond')`)
    .limit(200);
  const removed: string[] = [];
  for (const { id } of due) {
    try {
      await removeJob(services, id);
      removed.push(id);
    } catch (error) {
      services.log.error({ err: error, jobId: id }, "ephemeral job not removed, the next pass tries again");
    }
  }
  return removed;
}

/**
 * Removes one job with its pictures that nothing else uses: all rows in one transaction, so that a process that dies
 * leaves either everything or only objects without a row, which the sweep of orphans removes. Idempotent.
 */
export async function removeJob(services: Services, id: string): Promise<void> {
  const storageKeys = await services.db.transaction((tx) => deleteJobRows(tx, id));
  if (!storageKeys) return;
  await discardObjects(services, storageKeys);
  services.log.info({ jobId: id }, "ephemeral job removed after delivery");
}

/** Null when the job is gone already. Locked in the order job, pictures, links, as everywhere, so that none deadlocks. */
async function deleteJobRows(tx: Tx, id: string): Promise<string[] | null> {
  const { jobs, jobInputs, jobOutputs } = schema;
  const [job] = await tx.select({ id: jobs.id }).from(jobs).where(eq(jobs.id, id)).for("update");
  if (!job) return null;
  const inputs = tx.select({ id: jobInputs.imageId }).from(jobInputs).where(eq(jobInputs.jobId, id));
  const outputs = tx.select({ id: jobOutputs.imageId }).from(jobOutputs).where(eq(jobOutputs.jobId, id));
  const pictureIds = (await inputs.union(outputs)).map((link) => link.id);
  await lockRows(tx, pictureIds);
  await keepFigures(tx, id);
  await tx.delete(jobs).where(eq(jobs.id, id));
  return deleteUnusedRows(tx, pictureIds);
}
