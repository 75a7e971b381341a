import { eq, inArray, sql } from "drizzle-orm";
import { schema } from "../db/index.ts";
import { purgeImages } from "../images/index.ts";
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

/** Removes one ended job with its pictures; the rows go first, the objects after their commit. */
export async function removeJob(services: Services, id: string): Promise<void> {
  const { jobs, jobInputs, jobOutputs } = schema;
  const pictureIds = await services.db.transaction(async (tx) => {
    const inputs = await tx.select({ id: jobInputs.imageId }).from(jobInputs).where(eq(jobInputs.jobId, id));
    const outputs = await tx
      .select({ id: jobOutputs.imageId })
      .from(jobOutputs)
      .where(eq(jobOutputs.jobId, id));
    await tx.delete(jobs).where(inArray(jobs.id, [id]));
    return [...inputs, ...outputs].map((link) => link.id);
  });
  await purgeImages(services, pictureIds);
  services.log.info({ jobId: id }, "ephemeral job removed after delivery");
}
