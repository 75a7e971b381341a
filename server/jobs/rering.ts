import { sql } from "drizzle-orm";
import { schema } from "../db/index.ts";
import type { Services } from "../services/index.ts";
import { jobFromRow } from "./job.ts";
import { ring } from "./ring.ts";

/**
 * Rings again for queued rows whose bell is old, so that a flushed queue or a lost bell delays a job by one sweep.
 * Not a change of the job: neither revision nor story moves.
 */
export async function rering(services: Services): Promise<number> {
  const { reringMs } = services.config.timing;
  const result = await services.db.execute<Record<string, unknown>>(sql`
    update ${schema.jobs} set ring = ring + 1, rung_at = clock_timestamp()
    where status = 'queued' and rung_at < clock_timestamp() - ${reringMs} * interval '1 millisecond'
    returning *`);
  await ring(services, result.rows.map(jobFromRow));
  return result.rows.length;
}
