import { sql } from "drizzle-orm";
import { schema, type Db, type Estimate } from "../db/index.ts";
import type { Need } from "../engines/index.ts";
import { readRunCosts, type RunCost } from "./run-costs.ts";

/** A job in its line, or one that would stand at the end of its owner's share. */
export interface LineTarget {
  readonly queue: string;
  readonly need: Need;
  readonly ownerId: string;
  readonly tier: number;
  /** Place within the owner's share; null for a job that is not in the line yet. */
  readonly ownerOrder: number | null;
  /** True for a row that has left the line for the window: it stands before all that is pending. */
  readonly isQueued: boolean;
}

/** What stands before a job. Times in ms. */
export interface Wait {
  /** How many jobs are served before it. */
  readonly position: number;
  readonly waitMs: readonly [low: number, high: number];
  /** Past runs of the job's own need. */
  readonly cost: RunCost;
}

interface Line {
  readonly ahead: readonly { readonly need: string; readonly n: number }[];
  readonly running: readonly { readonly need: string; readonly n: number }[];
  readonly slots: number;
}

/** Width of the range in standard deviations: eight of ten should fall inside. */
const spread = 1.28;
const enoughRuns = 5;
const assumedRunMs: readonly [number, number] = [5_000, 120_000];

/**
 * How many jobs are served before a job under fair shares, and in which range it waits, from past runs of their needs.
 * Not for use inside a transaction: it takes a connection.
 */
export async function readWait(db: Db, target: LineTarget): Promise<Wait> {
  const { ahead, running, slots } = await readLine(db, target);
  const costs = await readRunCosts(db, [
    target.need,
    ...ahead.map(({ need }) => need),
    ...running.map(({ need }) => need),
  ]);
  const cost = costs(target.need);
  const position = ahead.reduce((sum, { n }) => sum + n, 0);
  const runningCount = running.reduce((sum, { n }) => sum + n, 0);
  if (position === 0 && runningCount < slots) return { position, waitMs: [0, 0], cost };
  const lanes = Math.max(1, slots);
  const aheadMs = ahead.reduce((sum, { need, n }) => sum + n * costs(need).meanMs, 0);
  const runningMs = running.reduce((sum, { need, n }) => sum + n * costs(need).meanMs, 0);
  const variance = ahead.reduce((sum, { need, n }) => sum + n * costs(need).varianceMs2, 0);
  // Who runs now is on average half through.
  const mean = (aheadMs + runningMs / 2) / lanes;
  const deviation = Math.sqrt(variance + runningMs ** 2 / 12) / lanes;
  const bound = (ms: number) => Math.max(0, Math.round(ms));
  return { position, waitMs: [bound(mean - spread * deviation), bound(mean + spread * deviation)], cost };
}

/** The whole of what is expected of a job: `wait`, and its own run from past ones of the same size when there are enough. */
export function toEstimate({ position, waitMs, cost }: Wait, sizeClass: number): Estimate {
  const same = cost.runs.filter((run) => run.sizeClass === sizeClass);
  const runs = (same.length >= enoughRuns ? same : cost.runs).map(({ ms }) => ms).toSorted((a, b) => a - b);
  if (runs.length === 0) return { position, waitMs, runMs: assumedRunMs, runs: 0 };
  const at = (part: number) => Math.round(runs[Math.round(part * (runs.length - 1))] ?? 0);
  // The middle eight of ten.
  return { position, waitMs, runMs: [at(0.1), at(0.9)], runs: runs.length };
}

/**
 * Rows ahead: the window, higher tiers, own earlier ones, and of each other owner as many as this one has before the
 * job, since the fair pick takes the owners in turn.
 */
async function readLine(db: Db, target: LineTarget): Promise<Line> {
  // `mine` is materialized, else it may be counted anew for each row of the line: 2 s at 2,000 rows instead of 20 ms.
  const { jobs, nodes, nodeQueues } = schema;
  const { queue, ownerId, tier, ownerOrder, isQueued } = target;
  const before = ownerOrder === null ? sql`true` : sql`owner_order < ${ownerOrder}`;
  const result = await db.execute<Line & Record<string, unknown>>(sql`
    with line as (
      select need, tier, owner_id, row_number() over (partition by owner_id, tier order by owner_order, id) as place,
        owner_id = ${ownerId} and ${before} as is_own_before
      from ${jobs} where queue = ${queue} and status = 'pending' and not ${isQueued}
    ), mine as materialized (select count(*) + 1 as place from line where is_own_before and tier = ${tier}),
    ahead as (
      select need, count(*)::int as n from line, mine
      where line.tier > ${tier} or (line.tier = ${tier} and (is_own_before or (owner_id <> ${ownerId} and line.place <= mine.place)))
      group by need
      union all
      select need, count(*)::int from ${jobs} where queue = ${queue} and status = 'queued' and not ${isQueued} group by need
    ), running as (
      select need, count(*)::int as n from ${jobs} where queue = ${queue} and status in ('waiting_for_engine', 'processing') group by need
    )
    select (select coalesce(json_agg(ahead), '[]') from ahead) as ahead, (select coalesce(json_agg(running), '[]') from running) as running,
      coalesce((select sum(q.slots) from ${nodeQueues} q join ${nodes} n on n.id = q.node_id
        where q.queue = ${queue} and n.state = 'active'), 0)::int as slots`);
  return result.rows[0] ?? { ahead: [], running: [], slots: 0 };
}
