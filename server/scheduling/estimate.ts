import { sql } from "drizzle-orm";
import { schema, type Db, type Estimate } from "../db/index.ts";
import { localEngine, type Need } from "../engines.ts";
import { isLiveNode } from "../nodes/index.ts";
import { readRunCosts, type RunCost, type RunCosts } from "./places.ts";

/** A waiting job, or a new one that would be the last of its owner's share. */
export interface LineTarget {
  readonly need: Need;
  readonly ownerId: string;
  readonly tier: number;
  /** Order within the owner's share; null for a job that is not in the line yet. */
  readonly ownerOrder: number | null;
  /** True for a row of the window, which is before all pending rows. */
  readonly isQueued: boolean;
}

/** What is served before a job. Times in ms. */
export interface Wait {
  /** How many jobs are served before it. */
  readonly position: number;
  /** False while no live node can run it; `waitMs` then has no meaning. */
  readonly isLive: boolean;
  /** What the job waits for: `worker` when no live worker could run its need, `server` when a live worker lacks the server; null when it is live. */
  readonly awaits: "worker" | "server" | null;
  readonly waitMs: readonly [low: number, high: number];
  /** Live slots for its need, and those that neither run a job nor have one before it. */
  readonly slots: number;
  readonly freeSlots: number;
  /** Past runs of the job's own need. */
  readonly cost: RunCost;
}

interface Count {
  readonly need: string;
  readonly n: number;
}

interface Line {
  /** By target; `isRival` when a node that can run the target can run these jobs too. */
  readonly ahead: readonly (Count & { readonly target: number; readonly isRival: boolean })[];
  /** On the nodes that can run the need `of`. */
  readonly running: readonly (Count & { readonly of: string })[];
  readonly slots: readonly { readonly of: string; readonly slots: number }[];
  /** Needs without a slot that a live node could serve in the last 24 hours. */
  readonly missed: readonly string[];
}

/** Half the width of the range in standard deviations: about 80 % of the waits should fall inside. */
const spread = 1.28;
const enoughRuns = 5;
const assumedRunMs: readonly [number, number] = [5_000, 120_000];

/**
 * For each target the number of jobs that are served before it under fair shares, and its expected wait, from past runs
 * of the needs. Reads the line once. Do not call it inside a transaction: it takes a connection of its own.
 */
export async function readWaits(
  db: Db,
  queue: string,
  targets: readonly LineTarget[],
): Promise<readonly Wait[]> {
  const line = await readLine(db, queue, targets);
  const costs = await readRunCosts(
    db,
    [...targets, ...line.ahead, ...line.running].map(({ need }) => need),
  );
  return targets.map(({ need }, target) => waitOf({ need, target, line, costs }));
}

interface Expected {
  readonly need: Need;
  readonly target: number;
  readonly line: Line;
  readonly costs: RunCosts;
}

function waitOf({ need, target, line, costs }: Expected): Wait {
  const ahead = line.ahead.filter((one) => one.target === target);
  const running = line.running.filter(({ of }) => of === need);
  const slots = line.slots.find(({ of }) => of === need)?.slots ?? 0;
  const isLive = slots > 0;
  const awaits = isLive ? null : awaitedFor(need, line);
  const rivals = isLive ? ahead.filter(({ isRival }) => isRival) : ahead;
  const busy = sum(running, ({ n }) => n);
  const freeSlots = Math.max(0, slots - busy - sum(rivals, ({ n }) => n));
  const known = { position: sum(ahead, ({ n }) => n), isLive, awaits, slots, freeSlots, cost: costs(need) };
  if (rivals.length === 0 && busy < slots) return { ...known, waitMs: [0, 0] };
  const lanes = Math.max(1, slots);
  const aheadMs = sum(rivals, (one) => one.n * costs(one.need).meanMs);
  const runningMs = sum(running, (one) => one.n * costs(one.need).meanMs);
  const variance = sum(rivals, (one) => one.n * costs(one.need).varianceMs2);
  // A running job is on average half done.
  const mean = (aheadMs + runningMs / 2) / lanes;
  const deviation = Math.sqrt(variance + runningMs ** 2 / 12) / lanes;
  const bound = (ms: number) => Math.max(0, Math.round(ms));
  return { ...known, waitMs: [bound(mean - spread * deviation), bound(mean + spread * deviation)] };
}

/** The local engine has no server: without a slot it is the worker that is missing. */
function awaitedFor(need: Need, { missed }: Line): "worker" | "server" {
  return missed.includes(need) && !need.startsWith(`${localEngine.name}/`) ? "server" : "worker";
}

function sum<T>(items: readonly T[], of: (item: T) => number): number {
  return items.reduce((total, item) => total + of(item), 0);
}

/** The estimate of a job: its wait, and its run time from past runs, of the same size class when there are enough. */
export function toEstimate({ position, isLive, waitMs, cost }: Wait, sizeClass: number): Estimate {
  const same = cost.runs.filter((run) => run.sizeClass === sizeClass);
  const runs = (same.length >= enoughRuns ? same : cost.runs).map(({ ms }) => ms).toSorted((a, b) => a - b);
  const wait = { position, isLive, waitMs };
  if (runs.length === 0) return { ...wait, runMs: assumedRunMs, runs: 0 };
  const at = (part: number) => Math.round(runs[Math.round(part * (runs.length - 1))] ?? 0);
  // The middle 80 %.
  return { ...wait, runMs: [at(0.1), at(0.9)], runs: runs.length };
}

/**
 * Rows before a target: the window, higher tiers, earlier rows of its owner, and of each other owner as many rows as its
 * owner has up to the target, since the fair pick takes the owners in turn; one less if that owner was served later.
 */
async function readLine(db: Db, queue: string, targets: readonly LineTarget[]): Promise<Line> {
  const { jobs, nodes, nodeQueues, queueTurns } = schema;
  const list = JSON.stringify(targets.map((target, i) => ({ i, ...target })));
  const isBefore = sql`l.owner_id = t."ownerId" and (t."ownerOrder" is null or l.owner_order < t."ownerOrder")`;
  // Materialized, or the planner may count positions for each row again: 2 s at 2,000 rows instead of 20 ms.
  const result = await db.execute<Line & Record<string, unknown>>(sql`
    with targets as materialized (
      select * from jsonb_to_recordset(${list}::jsonb) as t(i int, need text, "ownerId" text, tier int, "ownerOrder" float8, "isQueued" boolean)
    ), turns as materialized (
      select owner_id, served_at from ${queueTurns} where queue = ${queue}
    ), line as materialized (
      select need, tier, owner_id, owner_order, coalesce(served_at, '-infinity') as served_at,
        row_number() over (partition by owner_id, tier order by owner_order, id) as position
      from ${jobs} left join turns using (owner_id)
      where queue = ${queue} and status = 'pending' and exists (select 1 from targets where not "isQueued")
    ), mine as materialized (
      select t.*, (select count(*) + 1 from line l where l.tier = t.tier and ${isBefore}) as position,
        coalesce((select served_at from turns where owner_id = t."ownerId"), '-infinity') as served_at
      from targets t where not t."isQueued"
    ), able as materialized (
      select w.need as of, q.node_id, q.slots, q.needs
      from (select distinct need from targets) w join ${nodeQueues} q on q.queue = ${queue} and w.need = any(q.needs)
      join ${nodes} n on n.id = q.node_id and ${isLiveNode}
    ), before as (
      select t.i, t.need as of, l.need, count(*)::int as n from mine t
      join line l on l.tier > t.tier or (l.tier = t.tier and ((${isBefore}) or (l.owner_id <> t."ownerId" and l.position <= t.position - (l.served_at > t.served_at)::int)))
      group by t.i, t.need, l.need
      union all
      select t.i, t.need, j.need, count(*)::int from mine t, ${jobs} j
      where j.queue = ${queue} and j.status = 'queued' group by t.i, t.need, j.need
    ), ahead as (
      select b.i as target, b.need, b.n, exists (select 1 from able a where a.of = b.of and b.need = any(a.needs)) as "isRival"
      from before b
    ), running as (
      select a.of, j.need, count(*)::int as n from able a join ${jobs} j on j.node_id = a.node_id
      where j.queue = ${queue} and j.status in ('waiting_for_engine', 'processing') group by a.of, j.need
    ), able_slots as (select of, sum(slots)::int as slots from able group by of)
    select (select coalesce(json_agg(ahead), '[]') from ahead) as ahead, (select coalesce(json_agg(running), '[]') from running) as running,
      (select coalesce(json_agg(able_slots), '[]') from able_slots) as slots,
      (select coalesce(json_agg(distinct t.need), '[]') from targets t
        where not exists (select 1 from able_slots where of = t.need and slots > 0)
          and exists (select 1 from ${nodeQueues} q join ${nodes} n on n.id = q.node_id and ${isLiveNode}
            where t.need = any(q.seen_needs))) as missed`);
  return result[0] ?? { ahead: [], running: [], slots: [], missed: [] };
}
