import { sql, type SQL } from "drizzle-orm";
import { type Db, schema, type Tx } from "../db/index.ts";
import type { EngineName, Need } from "../engines.ts";
import { isLiveNode } from "../nodes/index.ts";
import type { Config } from "../platform/index.ts";

/** A need on a queue, with the work that is served before a new job there. */
export interface Place {
  readonly queue: string;
  readonly need: Need;
  /** Live slots that can serve the need now; 0 when only nodes of the last 24 hours could. */
  readonly slots: number;
  /** Expected run time of all open jobs of the queue, ms. */
  readonly workMs: number;
  /** Expected run time of one job of the need, ms, from past runs in any queue. */
  readonly runMs: number;
  readonly waiting: number;
}

const knownForHours = 24;

/**
 * The places of these needs on live nodes and on nodes of the last 24 hours. Do not call it inside a transaction: it
 * takes a connection of its own.
 */
export async function readPlaces(db: Db, needs: readonly Need[]): Promise<Place[]> {
  if (needs.length === 0) return [];
  const rows = await readOffered(db, needs);
  const costs = await readRunCosts(
    db,
    rows.flatMap(({ need, line }) => [need, ...line.map((one) => one.need)]),
  );
  return rows.map(({ queue, need, slots, line }) => ({
    queue,
    need,
    slots,
    workMs: line.reduce((sum, one) => sum + one.open * costs(one.need).meanMs, 0),
    runMs: costs(need).meanMs,
    waiting: line.reduce((sum, one) => sum + one.pending, 0),
  }));
}

interface Offered extends Record<string, unknown> {
  readonly queue: string;
  readonly need: Need;
  readonly slots: number;
  /** Open jobs of the queue by need. */
  readonly line: readonly { readonly need: string; readonly open: number; readonly pending: number }[];
}

async function readOffered(db: Db, needs: readonly Need[]): Promise<Offered[]> {
  const { jobs, nodes, nodeQueues } = schema;
  const wanted = sql.join(
    needs.map((need) => sql`${need}`),
    sql`, `,
  );
  const result = await db.execute<Offered>(sql`
    with offered as (
      select q.queue, w.need,
        coalesce(sum(q.slots) filter (where ${isLiveNode} and w.need = any(q.needs)), 0)::int as slots
      from unnest(array[${wanted}]::text[]) as w(need)
      join ${nodeQueues} q on w.need = any(q.seen_needs) or w.need = any(q.needs)
      join ${nodes} n on n.id = q.node_id
      where n.state = 'active' or n.seen_at > now() - make_interval(hours => ${knownForHours})
      group by q.queue, w.need
    ), lines as (
      select j.queue, j.need, count(*) as open, count(*) filter (where j.status = 'pending') as pending from ${jobs} j
      where j.queue in (select queue from offered) and (j.status in ('pending', 'queued')
        or (j.status in ('waiting_for_engine', 'processing') and j.node_id is not null))
      group by j.queue, j.need
    )
    select o.queue, o.need, o.slots,
      (select coalesce(json_agg(l), '[]') from lines l where l.queue = o.queue) as line
    from offered o`);
  return result;
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

/** Needs that nodes of the last 24 hours could serve. */
export async function seenNeeds(db: Db | Tx): Promise<Need[]> {
  const { nodes, nodeQueues } = schema;
  const result = await db.execute<{ need: Need }>(sql`
    select distinct s.need from ${nodeQueues} q join ${nodes} n on n.id = q.node_id, unnest(q.seen_needs) as s(need)
    where n.state = 'active' or n.seen_at > now() - make_interval(hours => ${knownForHours})`);
  return result.map(({ need }) => need);
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
    join ${nodes} n on n.id = s.node_id and n.state = 'active'
    join ${nodeQueues} q on q.node_id = n.id and q.slots > 0 and ${need} = any(q.needs)
      and (${isOfCards}) = (s.device is not null and s.device <> 'cpu')
    where s.state = 'healthy' and ${need} = any(s.needs)`;
}

/** Whether the queue requires graphics cards. */
export function isGpuQueue({ queues }: Pick<Config, "queues">, queue: string): boolean {
  return (queues[queue]?.minVramGib ?? 0) > 0;
}

/** One past run. */
interface PastRun {
  readonly ms: number;
  readonly sizeClass: number;
}

/** Run times of the last completed jobs of a need. */
export interface RunCost {
  readonly meanMs: number;
  readonly varianceMs2: number;
  /** Newest first. */
  readonly runs: readonly PastRun[];
}

export type RunCosts = (need: string) => RunCost;

interface Read {
  readonly readAtMs: number;
  readonly cost: RunCost;
}

/** Age limit of cached costs, so that many submits at once read them once. */
const believedForMs = 2_000;
const keptRuns = 200;
const recentRuns = 50;
/** Assumed for a need without past runs. */
const assumedRunMs: Record<EngineName, number> = {
  comfyui: 30_000,
  iopaint: 10_000,
  local: 10_000,
  cloud: 20_000,
};

const costsByDb = new WeakMap<Db, Map<string, Read>>();

/** Run costs of these needs, at most two seconds old. Do not call it inside a transaction: it takes a connection. */
export async function readRunCosts(db: Db, needs: readonly string[]): Promise<RunCosts> {
  const known = costsByDb.get(db) ?? new Map<string, Read>();
  costsByDb.set(db, known);
  const now = performance.now();
  const wanted = [...new Set(needs)];
  const missing = wanted.filter((need) => now - (known.get(need)?.readAtMs ?? -Infinity) > believedForMs);
  if (missing.length > 0) {
    const runs = await readRuns(db, missing);
    for (const need of missing) known.set(need, { readAtMs: now, cost: costOf(need, runs.get(need) ?? []) });
  }
  return (need) => known.get(need)?.cost ?? costOf(need, []);
}

async function readRuns(db: Db, needs: readonly string[]): Promise<Map<string, PastRun[]>> {
  const { jobs } = schema;
  const list = sql.join(
    needs.map((need) => sql`${need}`),
    sql`, `,
  );
  const result = await db.execute<{ need: Need; ms: number; sizeClass: number }>(sql`
    select wanted.need, run.ms, run.size_class as "sizeClass"
    from unnest(array[${list}]::text[]) as wanted(need) cross join lateral (
      select (extract(epoch from p.ended_at - p.started_at) * 1000)::float8 as ms, p.size_class from ${jobs} p
      where p.need = wanted.need and p.status = 'completed' order by p.ended_at desc limit ${keptRuns}
    ) run`);
  const runs = new Map<string, PastRun[]>();
  for (const { need, ms, sizeClass } of result) {
    const own = runs.get(need) ?? [];
    own.push({ ms, sizeClass });
    runs.set(need, own);
  }
  return runs;
}

function costOf(need: string, runs: readonly PastRun[]): RunCost {
  const recent = runs.slice(0, recentRuns).map(({ ms }) => ms);
  // Safe: a need starts with the name of its engine.
  const assumedMs = assumedRunMs[need.split("/")[0] as EngineName];
  if (recent.length === 0) return { meanMs: assumedMs, varianceMs2: (assumedMs / 2) ** 2, runs };
  const meanMs = recent.reduce((sum, ms) => sum + ms, 0) / recent.length;
  if (recent.length === 1) return { meanMs, varianceMs2: (meanMs / 2) ** 2, runs };
  const squares = recent.reduce((sum, ms) => sum + (ms - meanMs) ** 2, 0);
  return { meanMs, varianceMs2: squares / (recent.length - 1), runs };
}

/** 2 × log2 of megapixels × steps, rounded: runs of one size class take about the same time on one server. */
export function sizeClassOf({ pixels, steps }: { pixels: number; steps: number }): number {
  const work = Math.max(0.01, (pixels / 1_000_000) * Math.max(1, steps));
  return Math.round(2 * Math.log2(work));
}
