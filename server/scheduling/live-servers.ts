import { sql, type SQL } from "drizzle-orm";
import { schema, type Db } from "../db/index.ts";
import type { Need } from "../engines/index.ts";
import type { Config } from "../platform/index.ts";

export interface LiveServer {
  readonly url: string;
  /** Queue through which its node gives it jobs. */
  readonly queue: string;
  /** Null when the server did not say. */
  readonly vramBytes: number | null;
}

/** Whether the queue stands for graphics cards. */
export function isGpuQueue({ queues }: Pick<Config, "queues">, queue: string): boolean {
  return (queues[queue]?.minVramGib ?? 0) > 0;
}

/**
 * Healthy servers `s` of active nodes that are given jobs of a need through a queue `q`, as SQL to select from. A server
 * with a card serves its node's queue of cards, any other one the CPU queue.
 */
export function servingServers(config: Pick<Config, "queues">, need: SQL): SQL {
  const { engineServers, nodes, nodeQueues } = schema;
  const gpuQueues = Object.keys(config.queues).filter((queue) => isGpuQueue(config, queue));
  const isOfCards = gpuQueues.length > 0 ? sql`q.queue in ${gpuQueues}` : sql`false`;
  return sql`${engineServers} s
    join ${nodes} n on n.id = s.node_id and n.state = 'active'
    join ${nodeQueues} q on q.node_id = n.id and q.slots > 0 and ${need} = any(q.needs)
      and (${isOfCards}) = (s.device is not null and s.device <> 'cpu')
    where s.state = 'healthy' and ${need} = any(s.needs)`;
}

/** Servers that can be given a job of the need now, each address once per queue. */
export async function liveServers(db: Db, config: Pick<Config, "queues">, need: Need): Promise<LiveServer[]> {
  const result = await db.execute<{ url: string; queue: string; vramBytes: string | null }>(sql`
    select s.url, q.queue, max(s.vram_total_bytes) as "vramBytes"
    from ${servingServers(config, sql`${need}::text`)} group by s.url, q.queue order by q.queue, s.url`);
  return result.rows.map((row) => ({
    ...row,
    vramBytes: row.vramBytes === null ? null : Number(row.vramBytes),
  }));
}
