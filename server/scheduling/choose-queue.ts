import { sql } from "drizzle-orm";
import { schema, type Db, type Tx } from "../db/index.ts";
import { localEngine, type JobKind } from "../engines/index.ts";
import { AppError, type Config } from "../platform/index.ts";

/**
 * The queue for a job: among the queues whose live nodes can run the kind, the one with the fewest open rows per slot.
 * Without a live node the least demanding queue, where it waits for a worker to come back.
 * Throws `no_engine` when no engine of the product can ever run the kind.
 */
export async function chooseQueue(db: Db | Tx, config: Config, kind: JobKind): Promise<string> {
  if (!localEngine.kinds.includes(kind)) throw new AppError("no_engine", missingEngineReason(kind));
  const result = await db.execute<{ queue: string }>(sql`
    select q.queue
    from ${schema.nodes} n, unnest(n.queues) as q(queue)
    left join lateral (
      select count(*) as waiting from ${schema.jobs} j
      where j.queue = q.queue and j.status in ('pending', 'queued')
    ) line on true
    where n.state = 'active' and n.capability -> 'kinds' ? ${kind}
    group by q.queue
    order by max(line.waiting)::float / sum(n.slots), q.queue
    limit 1`);
  return result.rows[0]?.queue ?? leastDemandingQueue(config);
}

/** The queue that asks for the fewest cores. */
function leastDemandingQueue(config: Config): string {
  const sorted = Object.entries(config.queues).toSorted(([, a], [, b]) => a.minCores - b.minCores);
  const first = sorted[0];
  if (!first) throw new AppError("internal", "The configuration names no queue.");
  return first[0];
}

/** Says why a kind that no connected engine can run does not run, and what to connect. */
export function missingEngineReason(kind: JobKind): string {
  return kind === "text_to_image"
    ? "Making pictures from text needs a ComfyUI server or a cloud provider; none is connected. The engine of this computer only edits pictures."
    : "No engine that can do this is connected.";
}
