import { sql, type SQL } from "drizzle-orm";
import { type Db, schema, type Tx } from "../db/index.ts";
import type { Need } from "../engines.ts";
import { isActive, isLiveNode } from "../nodes/index.ts";
import type { Config } from "../platform/index.ts";
import type { HeldKeys } from "../providers/index.ts";
import {
  declaredPlaces,
  lateStartMs,
  onDemandQueues,
  servedAt,
  startableNeeds,
  startMsOf,
  unservedSince,
} from "./on-demand.ts";

/** A need on a queue. */
export interface Place {
  readonly queue: string;
  readonly need: Need;
  /** Live slots that can serve the need now; 0 when only nodes of the last 24 hours could. */
  readonly slots: number;
  /** Rows that wait in the queue's line. */
  readonly waiting: number;
  /** Since a node could last serve the need there; 0 while one can. */
  readonly awayMs: number;
  /** Every server that can run it may have too small a card for it. */
  readonly isTight: boolean;
  /** Until a worker takes a job there that is started for it, as usual; null where none is started, one is live, or the start is too late. */
  readonly startMs: number | null;
}

const knownForHours = 24;

/**
 * The places of these needs on live nodes, on nodes of the last 24 hours, and in queues that are started on demand. Do not
 * call it inside a transaction: it takes a connection of its own.
 */
export async function readPlaces(
  db: Db,
  config: Pick<Config, "queues">,
  needs: readonly Need[],
): Promise<Place[]> {
  if (needs.length === 0) return [];
  const startable = onDemandQueues(config);
  const isStartable = startable.length > 0 ? sql`q.queue in ${startable}` : sql`false`;
  const declared = JSON.stringify(declaredPlaces(config).filter(({ need }) => needs.includes(need)));
  const { engineServers, jobs, nodes, nodeQueues } = schema;
  const wanted = sql.join(
    needs.map((need) => sql`${need}`),
    sql`, `,
  );
  const oldest = sql`(select min(j.created_at) from ${jobs} j where j.queue = o.queue and j.status in ('pending', 'queued'))`;
  const since = unservedSince(sql`o.queue`, oldest);
  const places = await db.execute<FoundPlace & Record<string, unknown>>(sql`
    with known as (
      select q.queue, w.need,
        coalesce(sum(q.slots) filter (where ${isLiveNode} and w.need = any(q.needs)), 0)::int as slots,
        max(${servedAt(sql`w.need`)}) as served_at
      from unnest(array[${wanted}]::text[]) as w(need)
      join ${nodeQueues} q on w.need = any(q.seen_needs) or w.need = any(q.needs)
      join ${nodes} n on n.id = q.node_id
      where ${isActive()} or n.seen_at > now() - make_interval(hours => ${knownForHours}) or ${isStartable}
      group by q.queue, w.need
    ), offered as (
      select * from known
      union all select d.queue, d.need, 0, now() from jsonb_to_recordset(${declared}::jsonb) as d(queue text, need text)
        where not exists (select from known k where k.queue = d.queue and k.need = d.need)
    )
    select o.queue, o.need, o.slots,
      case when o.slots > 0 then 0 else greatest(0, (extract(epoch from now() - o.served_at) * 1000)::float8) end as "awayMs",
      coalesce((
        select bool_and(o.need = any(s.tight_needs)) from ${engineServers} s
        join ${nodes} n on n.id = s.node_id and ${isActive()}
        where s.state = 'healthy' and o.need = any(s.needs)), false) as "isTight",
      (select count(*)::int from ${jobs} j where j.queue = o.queue and j.status = 'pending') as waiting,
      case when ${oldest} is null or ${startable.length > 0 ? sql`o.queue not in ${startable}` : sql`true`} then 0
        else greatest(0, (extract(epoch from now() - ${since}) * 1000)::float8) end as "unservedMs"
    from offered o`);
  return places.map((place) => withStart(config, place));
}

/** `unservedMs`: since when jobs wait in a queue that is started on demand without a worker; 0 where none waits. */
type FoundPlace = Omit<Place, "startMs"> & { readonly unservedMs: number };

/** A start that is too late is expected no more: the place is away, as one whose worker died. */
function withStart(config: Pick<Config, "queues">, { unservedMs, ...place }: FoundPlace): Place {
  const startMs = place.slots > 0 ? null : startMsOf(config, place.queue);
  if (startMs === null) return { ...place, startMs };
  if (unservedMs >= lateStartMs(config, place.queue)) return { ...place, startMs: null, awayMs: unservedMs };
  return { ...place, startMs, awayMs: 0 };
}

/** A place that live nodes can serve now. */
export type LivePlace = Pick<Place, "queue" | "need" | "slots">;

/** All places that live nodes can serve now. */
export async function livePlaces(db: Db | Tx): Promise<LivePlace[]> {
  const { nodes, nodeQueues } = schema;
  const result = await db.execute<{ queue: string; need: Need; slots: number }>(sql`
    select q.queue, s.need, sum(q.slots)::int as slots
    from ${nodeQueues} q join ${nodes} n on n.id = q.node_id, unnest(q.needs) as s(need)
    where ${isLiveNode} and q.slots > 0
    group by q.queue, s.need`);
  return result;
}

/** Providers that a live node holds a key of. */
export async function liveProviders(db: Db | Tx): Promise<ReadonlySet<string>> {
  const { nodes } = schema;
  const rows = await db.execute<{ provider: string }>(sql`
    select distinct p.provider from ${nodes} n, jsonb_array_elements_text(n.capability -> 'providers') as p(provider)
    where ${isLiveNode}`);
  return new Set(rows.map(({ provider }) => provider));
}

/** The keys of providers that live nodes hold, each once. A worker of an older version names no keys. */
export async function liveKeys(db: Db | Tx): Promise<HeldKeys> {
  const { nodes } = schema;
  const [held] = await db.execute<{ providers: string[]; keys: HeldKeys["keys"] }>(sql`
    select (select coalesce(json_agg(distinct p.provider), '[]') from ${nodes} n,
        jsonb_array_elements_text(n.capability -> 'providers') as p(provider) where ${isLiveNode}) as providers,
      (select coalesce(json_agg(k), '[]') from (select distinct k.provider, k."keyId" from ${nodes} n,
        jsonb_to_recordset(n.capability -> 'providerKeys') as k(provider text, "keyId" text) where ${isLiveNode}) k) as keys`);
  return { providers: new Set(held?.providers), keys: held?.keys ?? [] };
}

/** Needs that nodes of the last 24 hours could serve, or such as are started on demand. */
export async function seenNeeds(db: Db | Tx, config: Pick<Config, "queues">): Promise<Need[]> {
  const { nodes, nodeQueues } = schema;
  const result = await db.execute<{ need: Need }>(sql`
    select distinct s.need from ${nodeQueues} q join ${nodes} n on n.id = q.node_id, unnest(q.seen_needs) as s(need)
    where ${isActive()} or n.seen_at > now() - make_interval(hours => ${knownForHours})`);
  return [...new Set([...result.map(({ need }) => need), ...(await startableNeeds(db, config))])];
}

export interface LiveServer {
  readonly url: string;
  /** The queue whose jobs its node gives to it. */
  readonly queue: string;
  /** Null when the server does not report it. */
  readonly vramBytes: number | null;
}

/** Servers that can run a job of the need now, each address once per queue. */
export async function liveServers(db: Db, config: Pick<Config, "queues">, need: Need): Promise<LiveServer[]> {
  const result = await db.execute<{ url: string; queue: string; vramBytes: string | null }>(sql`
    select s.url, q.queue, max(s.vram_total_bytes) as "vramBytes"
    from ${servingServers(config, sql`${need}::text`)} group by s.url, q.queue order by q.queue, s.url`);
  return result.map((row) => ({
    ...row,
    vramBytes: row.vramBytes === null ? null : Number(row.vramBytes),
  }));
}

/**
 * SQL source of healthy servers `s` of active nodes that can get jobs of a need from a queue `q`. A server with a card
 * serves the card queue of its node, any other server the CPU queue.
 */
export function servingServers(config: Pick<Config, "queues">, need: SQL): SQL {
  const { engineServers, nodes, nodeQueues } = schema;
  const gpuQueues = Object.keys(config.queues).filter((queue) => isGpuQueue(config, queue));
  const isOfCards = gpuQueues.length > 0 ? sql`q.queue in ${gpuQueues}` : sql`false`;
  return sql`${engineServers} s
    join ${nodes} n on n.id = s.node_id and ${isActive()}
    join ${nodeQueues} q on q.node_id = n.id and q.slots > 0 and ${need} = any(q.needs)
      and (${isOfCards}) = (s.device is not null and s.device <> 'cpu')
    where s.state = 'healthy' and ${need} = any(s.needs)`;
}

/** Whether the queue requires graphics cards. */
export function isGpuQueue({ queues }: Pick<Config, "queues">, queue: string): boolean {
  return (queues[queue]?.minVramGib ?? 0) > 0;
}
