import { sql } from "drizzle-orm";
import { schema, type Db, type Estimate, type Tx } from "../db/index.ts";
import type { Need } from "../engines/index.ts";

/** A job in its line, or one that would stand at the end of its owner's share. */
export interface EstimateTarget {
  readonly queue: string;
  readonly need: Need;
  readonly sizeClass: number;
  readonly ownerId: string;
  readonly tier: number;
  /** Place within the owner's share; null for a job that is not in the line yet. */
  readonly ownerOrder: number | null;
  /** True for a row that has left the line for the window: it stands before all that is pending. */
  readonly isQueued: boolean;
}

/** Width of the range in standard deviations: eight of ten should fall inside. */
const spread = 1.28;
const recentRuns = 50;
const enoughRuns = 5;
const assumedRunMs = { mean: 30_000, low: 5_000, high: 120_000 };

interface Sums extends Record<string, unknown> {
  readonly position: number;
  readonly ahead_ms: number;
  readonly ahead_variance: number;
  readonly running_ms: number;
  readonly running: number;
  readonly slots: number;
}

/**
 * What is expected of a job: how many are served before it under fair shares, and in which ranges it waits and runs,
 * from past runs of the same needs and, for its own run, of the same size.
 */
export async function readEstimate(db: Db | Tx, target: EstimateTarget): Promise<Estimate> {
  const sums = await readSums(db, target);
  const run = await readRunRange(db, target);
  const { position, slots, running } = sums;
  if (position === 0 && running < slots) return { position, waitMs: [0, 0], ...run };
  const lanes = Math.max(1, slots);
  // Who runs now is on average half through.
  const mean = (sums.ahead_ms + sums.running_ms / 2) / lanes;
  const deviation = Math.sqrt(sums.ahead_variance + sums.running_ms ** 2 / 12) / lanes;
  const waitMs = [mean - spread * deviation, mean + spread * deviation].map((ms) =>
    Math.max(0, Math.round(ms)),
  );
  return { position, waitMs: [waitMs[0] ?? 0, waitMs[1] ?? 0], ...run };
}

/**
 * Rows ahead: the window, higher tiers, own earlier ones, and of each other owner as many as this one has before the
 * job, since the fair pick takes the owners in turn.
 */
async function readSums(db: Db | Tx, target: EstimateTarget): Promise<Sums> {
  const { jobs, nodes, nodeQueues } = schema;
  const { queue, ownerId, tier, ownerOrder, isQueued } = target;
  const before = ownerOrder === null ? sql`true` : sql`owner_order < ${ownerOrder}`;
  const result = await db.execute<Sums>(sql`
    with line as (
      select need, status, tier, owner_id, row_number() over (partition by owner_id, tier order by owner_order, id) as place,
        owner_id = ${ownerId} and ${before} as is_own_before
      from ${jobs} where queue = ${queue} and status = 'pending'
    ), mine as (select count(*) + 1 as place from line where is_own_before and tier = ${tier}),
    ahead as (
      select need, count(*) as n from line, mine
      where not ${isQueued} and (line.tier > ${tier} or (line.tier = ${tier} and (is_own_before or (owner_id <> ${ownerId} and line.place <= mine.place))))
      group by need
      union all
      select need, count(*) from ${jobs} where queue = ${queue} and status = 'queued' and not ${isQueued} group by need
    ), running as (
      select need, count(*) as n from ${jobs} where queue = ${queue} and status in ('waiting_for_engine', 'processing') group by need
    ), costs as (
      select need, coalesce(avg(ms), ${assumedRunMs.mean}) as mean, coalesce(var_samp(ms), power(${assumedRunMs.mean} / 2, 2)) as variance
      from (select need from ahead union select need from running) needs left join lateral (
        select extract(epoch from ended_at - started_at) * 1000 as ms from ${jobs} p
        where p.need = needs.need and p.status = 'completed' order by p.ended_at desc limit ${recentRuns}
      ) runs on true group by need
    )
    select coalesce((select sum(n) from ahead), 0)::int as position,
      coalesce((select sum(n * mean) from ahead join costs using (need)), 0)::float8 as ahead_ms,
      coalesce((select sum(n * variance) from ahead join costs using (need)), 0)::float8 as ahead_variance,
      coalesce((select sum(n * mean) from running join costs using (need)), 0)::float8 as running_ms,
      coalesce((select sum(n) from running), 0)::int as running,
      coalesce((select sum(q.slots) from ${nodeQueues} q join ${nodes} n on n.id = q.node_id
        where q.queue = ${queue} and n.state = 'active'), 0)::int as slots`);
  const row = result.rows[0];
  return row ?? { position: 0, ahead_ms: 0, ahead_variance: 0, running_ms: 0, running: 0, slots: 0 };
}

/** The middle eight of ten of past runs; of the same size when there are enough of them. */
async function readRunRange(db: Db | Tx, target: EstimateTarget): Promise<Pick<Estimate, "runMs" | "runs">> {
  const { jobs } = schema;
  const result = await db.execute<{ is_same: boolean; runs: number; low: number; high: number }>(sql`
    with last as (
      select extract(epoch from ended_at - started_at) * 1000 as ms, size_class = ${target.sizeClass} as is_same
      from ${jobs} where need = ${target.need} and status = 'completed' order by ended_at desc limit ${recentRuns * 4}
    )
    select coalesce(is_same, false) as is_same, count(*)::int as runs,
      percentile_cont(0.1) within group (order by ms)::float8 as low, percentile_cont(0.9) within group (order by ms)::float8 as high
    from last group by grouping sets ((is_same), ())
    order by grouping(is_same)`);
  const same = result.rows.find((row) => row.is_same && row.runs >= enoughRuns);
  const best = same ?? result.rows.at(-1);
  if (!best || best.runs === 0) return { runMs: [assumedRunMs.low, assumedRunMs.high], runs: 0 };
  return { runMs: [Math.round(best.low), Math.round(best.high)], runs: best.runs };
}
