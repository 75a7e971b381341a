import { sql } from "drizzle-orm";
import { schema } from "../db/index.ts";
import type { QueueNeeds } from "../platform/index.ts";
import type { Services } from "../services/index.ts";

/** A queue as it is at this moment. */
export interface QueueNow {
  readonly queue: string;
  /** What it asks of a node; null for a queue that the configuration no longer names. */
  readonly needs: QueueNeeds | null;
  /** How long the job that was asked for first of all that wait has been waiting; null when nothing waits. */
  readonly oldestWaitingMs: number | null;
  readonly waiting: number;
  /** Claimed by a node. */
  readonly running: number;
  /** Jobs at once of its active nodes. */
  readonly slots: number;
  readonly nodes: readonly string[];
}

interface Line extends Record<string, unknown> {
  readonly queue: string;
  readonly waiting: number;
  readonly running: number;
  readonly oldestWaitingMs: number | null;
}

interface Offered extends Record<string, unknown> {
  readonly queue: string;
  readonly slots: number;
  readonly nodes: readonly string[];
}

/** Every queue of the configuration and whatever else has a node or an open job; who has waited longest comes first. */
export async function readQueues({ db, config }: Pick<Services, "db" | "config">): Promise<QueueNow[]> {
  const { jobs, nodes, nodeQueues } = schema;
  const [lines, offers] = await Promise.all([
    db.execute<Line>(sql`
      select queue, count(*) filter (where status in ('pending', 'queued'))::int as waiting,
        count(*) filter (where status in ('waiting_for_engine', 'processing'))::int as running,
        round(extract(epoch from now() - min(created_at) filter (where status in ('pending', 'queued'))) * 1000)::float8 as "oldestWaitingMs"
      from ${jobs} where status in ('pending', 'queued', 'waiting_for_engine', 'processing') group by queue`),
    db.execute<Offered>(sql`
      select q.queue, sum(q.slots)::int as slots, array_agg(n.name order by n.name) as nodes
      from ${nodeQueues} q join ${nodes} n on n.id = q.node_id
      where n.state = 'active' and q.slots > 0 group by q.queue`),
  ]);
  const names = new Set([
    ...Object.keys(config.queues),
    ...[...lines.rows, ...offers.rows].map(({ queue }) => queue),
  ]);
  const all = [...names].map((queue): QueueNow => ({
    ...idleQueue(queue),
    needs: config.queues[queue] ?? null,
    ...lines.rows.find((row) => row.queue === queue),
    ...offers.rows.find((row) => row.queue === queue),
    queue,
  }));
  return all.toSorted((a, b) => (b.oldestWaitingMs ?? -1) - (a.oldestWaitingMs ?? -1));
}

/** A queue that nothing is known of at this moment. */
export const idleQueue = (queue: string): QueueNow => ({
  queue,
  needs: null,
  oldestWaitingMs: null,
  waiting: 0,
  running: 0,
  slots: 0,
  nodes: [],
});
