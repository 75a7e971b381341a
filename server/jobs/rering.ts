import { sql } from "drizzle-orm";
import { schema } from "../db/index.ts";
import type { Services } from "../services/index.ts";
import { jobFromRow } from "./job.ts";
import { ring } from "./ring.ts";
import { inOrderOfId } from "./transition.ts";

/**
 * Rings again for queued rows whose bell is old, so that a flushed queue or a lost bell delays a job by one sweep.
 * Only while a node that can run the row has a free slot: otherwise bells would pile up before busy nodes.
 * Not a change of the job: neither revision nor story moves. With `olderThanMs` 0 it rings for all of them.
 */
export async function rering(
  services: Services,
  olderThanMs = services.config.timing.reringMs,
): Promise<number> {
  const { jobs, nodes, nodeQueues } = schema;
  const result = await services.db.execute<Record<string, unknown>>(sql`
    update ${jobs} set ring = ring + 1, rung_at = clock_timestamp()
    where ${inOrderOfId(sql`status = 'queued' and rung_at < clock_timestamp() - ${olderThanMs} * interval '1 millisecond'
      and exists (select 1 from ${nodeQueues} q join ${nodes} n on n.id = q.node_id
        where n.state = 'active' and q.queue = ${jobs.queue} and ${jobs.need} = any(q.needs)
          and q.slots > (select count(*) from ${jobs} r where r.node_id = n.id and r.queue = q.queue and r.status in ('waiting_for_engine', 'processing')))`)}
    returning *`);
  await ring(services, result.rows.map(jobFromRow));
  return result.rows.length;
}
