import { sql } from "drizzle-orm";
import { type Db, schema } from "../db/index.ts";
import { isLiveNode } from "../nodes/index.ts";

/** A waiting job, or a new one that would be the last of its owner's share, in a queue. */
export interface LineOf {
  readonly queue: string;
  readonly ownerId: string;
  readonly tier: number;
  /** Order within the owner's share; null for a job that is not in the line yet. */
  readonly ownerOrder: number | null;
  /** True for a row of the window, which is before all pending rows. */
  readonly isQueued: boolean;
}

/** Jobs of one need and size class. */
interface Count {
  readonly need: string;
  readonly sizeClass: number;
  readonly n: number;
}

/** A live node in a queue, with the needs of the read that it can serve now, and those that it could lately. */
interface LineNode {
  readonly queue: string;
  readonly nodeId: string;
  readonly slots: number;
  readonly needs: readonly string[];
  readonly seen: readonly string[];
}

/** A job that a live node holds. */
interface RunningJob {
  readonly queue: string;
  readonly nodeId: string;
  readonly need: string;
  readonly sizeClass: number;
  /** Since its start; 0 while it waits for a server. */
  readonly elapsedMs: number;
}

/** What is served before each target, and who serves it. */
export interface Lines {
  /** By the index of the target. */
  readonly ahead: readonly (Count & { readonly target: number })[];
  readonly nodes: readonly LineNode[];
  readonly running: readonly RunningJob[];
}

/**
 * Rows before each target: the window, higher tiers, earlier rows of its owner, and of each other owner as many rows as its
 * owner has up to the target, since the fair pick takes the owners in turn; one less if that owner was served later.
 * `needs` are those of the targets. One statement for all queues; it takes a connection of its own.
 */
export async function readLines(
  db: Db,
  targets: readonly LineOf[],
  needs: readonly string[],
): Promise<Lines> {
  const { jobs, nodes, nodeQueues, queueTurns } = schema;
  const list = JSON.stringify(
    targets.map(({ queue, ownerId, tier, ownerOrder, isQueued }, i) => ({
      i,
      queue,
      ownerId,
      tier,
      ownerOrder,
      isQueued,
    })),
  );
  const isBefore = sql`l.owner_id = t."ownerId" and (t."ownerOrder" is null or l.owner_order < t."ownerOrder")`;
  const isShare = sql`l.owner_id <> t."ownerId" and l.position <= t.position - (l.served_at > t.served_at)::int`;
  // Materialized, or the planner may count positions for each row again: 2 s at 2,000 rows instead of 20 ms.
  const [row] = await db.execute<Lines & Record<string, unknown>>(sql`
    with targets as materialized (
      select * from jsonb_to_recordset(${list}::jsonb)
        as t(i int, queue text, "ownerId" text, tier int, "ownerOrder" float8, "isQueued" boolean)
    ), turns as materialized (
      select queue, owner_id, served_at from ${queueTurns} where queue in (select queue from targets)
    ), line as materialized (
      select l.queue, l.need, l.size_class, l.tier, l.owner_id, l.owner_order, coalesce(served_at, '-infinity') as served_at,
        row_number() over (partition by l.queue, l.owner_id, l.tier order by l.owner_order, l.id) as position
      from ${jobs} l left join turns on turns.queue = l.queue and turns.owner_id = l.owner_id
      where l.queue in (select queue from targets where not "isQueued") and l.status = 'pending'
    ), mine as materialized (
      select t.*, (select count(*) + 1 from line l where l.queue = t.queue and l.tier = t.tier and ${isBefore}) as position,
        coalesce((select served_at from turns where turns.queue = t.queue and owner_id = t."ownerId"), '-infinity') as served_at
      from targets t where not t."isQueued"
    ), before as materialized (
      select t.i, l.need, l.size_class, count(*)::int as n from mine t join line l on l.queue = t.queue
        and (l.tier > t.tier or (l.tier = t.tier and ((${isBefore}) or (${isShare}))))
      group by 1, 2, 3
      union all
      select t.i, j.need, j.size_class, count(*)::int from mine t join ${jobs} j on j.queue = t.queue and j.status = 'queued'
      group by 1, 2, 3
    ), wanted as materialized (
      select value as need from jsonb_array_elements_text(${JSON.stringify([...new Set(needs)])}::jsonb)
      union select need from before
    ), able as materialized (
      select q.queue, q.node_id, q.slots, array(select need from wanted where need = any(q.needs)) as needs,
        array(select need from wanted where need = any(q.seen_needs)) as seen
      from ${nodeQueues} q join ${nodes} n on n.id = q.node_id and ${isLiveNode}
      where q.queue in (select queue from targets)
    )
    select (select coalesce(json_agg(json_build_object('target', i, 'need', need, 'sizeClass', size_class, 'n', n)), '[]') from before) as ahead,
      (select coalesce(json_agg(json_build_object('queue', queue, 'nodeId', node_id, 'slots', slots, 'needs', needs, 'seen', seen)), '[]') from able) as nodes,
      (select coalesce(json_agg(json_build_object('queue', j.queue, 'nodeId', j.node_id, 'need', j.need, 'sizeClass', j.size_class,
          'elapsedMs', greatest(0, coalesce(extract(epoch from now() - j.started_at) * 1000, 0)))), '[]')
        from ${jobs} j join able on able.node_id = j.node_id and able.queue = j.queue
        where j.status in ('waiting_for_engine', 'processing')) as running`);
  return row ?? { ahead: [], nodes: [], running: [] };
}
