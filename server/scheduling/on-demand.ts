import { type SQL, sql } from "drizzle-orm";
import { type Db, schema, type Tx } from "../db/index.ts";
import type { Need } from "../engines.ts";
import type { Config } from "../platform/index.ts";

export type Queues = Pick<Config, "queues">;

/** From the first waiting job to a worker of the queue that takes it, in ms as usual; null where nothing starts its workers. */
export function startMsOf({ queues }: Queues, queue: string): number | null {
  const startS = queues[queue]?.onDemand?.startS;
  return startS === undefined ? null : startS * 1_000;
}

/** A start that takes so many times as long as usual has failed: jobs move on where they can, and an admin is told. */
const lateTimes = 3;

/** From this wait on nothing seems to start the workers of the queue, in ms; 0 where nothing should. */
export const lateStartMs = (config: Queues, queue: string): number =>
  lateTimes * (startMsOf(config, queue) ?? 0);

/**
 * SQL: since when jobs of a queue have had no worker. `since` is the submit of the oldest that waits; with a need only
 * workers that could serve it count, else all that had a server.
 */
export function unservedSince(queue: SQL, since: SQL, need?: SQL): SQL {
  const { nodes, nodeQueues } = schema;
  const isOne = need
    ? sql`(${need} = any(q.seen_needs) or ${need} = any(q.needs))`
    : sql`q.seen_needs <> '{}'`;
  return sql`greatest(${since}, (
    select max(${need ? servedAt(need) : sql`n.seen_at`}) from ${nodeQueues} q join ${nodes} n on n.id = q.node_id
    where q.queue = ${queue} and ${isOne}))`;
}

/**
 * SQL on `node_queues q` with `nodes n`: while a node beats, a need that it lacks was last served when the node noted it;
 * else when the node was last seen.
 */
export const servedAt = (need: SQL): SQL => sql`case when ${need} = any(q.needs) then n.seen_at
  else least(n.seen_at, coalesce((q.needs_seen_at ->> ${need})::timestamptz, n.seen_at)) end`;

/** SQL condition on `nodes n`: the need is kept for it, for 30 days where its queue is started on demand. */
export const knows = (need: SQL): SQL =>
  sql`exists (select 1 from ${schema.nodeQueues} q where q.node_id = n.id and ${need} = any(q.seen_needs))`;

/** Queues whose workers something outside starts when jobs wait. */
export const onDemandQueues = ({ queues }: Queues): string[] =>
  Object.keys(queues).filter((queue) => queues[queue]?.onDemand !== undefined);

/** What their workers can run by the configuration, whether one was ever seen or not. */
export const declaredPlaces = ({ queues }: Queues): { readonly queue: string; readonly need: Need }[] =>
  Object.entries(queues).flatMap(([queue, { onDemand }]) =>
    (onDemand?.workflows ?? []).map((name) => ({ queue, need: `comfyui/${name}` as const })),
  );

/** What workers that are started on demand can run: by the configuration, and what one of them offered before. */
export async function startableNeeds(db: Db | Tx, config: Queues): Promise<Need[]> {
  const queues = onDemandQueues(config);
  if (queues.length === 0) return [];
  const { nodeQueues } = schema;
  const seen = await db.execute<{ need: Need }>(sql`
    select distinct s.need from ${nodeQueues} q, unnest(q.seen_needs) as s(need) where q.queue in ${queues}`);
  return [...declaredPlaces(config).map(({ need }) => need), ...seen.map(({ need }) => need)];
}
