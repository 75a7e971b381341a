import { sql } from "drizzle-orm";
import { schema } from "../db/index.ts";
import { AppError } from "../platform/index.ts";
import type { Services } from "../services/index.ts";
import { removeJob } from "./expire-ephemeral.ts";
import { get, type JobAddress } from "./get.ts";
import { isFinal } from "./status.ts";

/**
 * The client has the result in full. An ephemeral job goes at once; a kept one stays. `removed` is true for each of several
 * simultaneous calls. Throws `not_found`, `conflict` while the job is open.
 */
export async function ack(services: Services, address: JobAddress): Promise<{ removed: boolean }> {
  const job = await get(services, address);
  if (!isFinal(job.status)) throw new AppError("conflict", "The job has not ended yet.");
  const result = await services.db.execute<{ retention: string }>(sql`
    update ${schema.jobs} set acked_at = coalesce(acked_at, now()) where id = ${job.id} returning retention`);
  const [row] = result.rows;
  if (row && row.retention !== "ephemeral") return { removed: false };
  // No row: another call has removed the job since it was read.
  await removeJob(services, job.id);
  return { removed: true };
}
