import { sql } from "drizzle-orm";
import { type Db, openStatuses, schema } from "../db/index.ts";

/** One past run. */
export interface PastRun {
  readonly ms: number;
  readonly sizeClass: number;
  readonly queue: string;
}

/** How long a job waited from its submit on, or has waited so far, and what was expected and told then. */
interface SeenWait {
  readonly sinceMs: number;
  readonly ms: number;
  readonly expectedMs: number;
  /** The high end of the told range. */
  readonly toldMs: number;
  readonly isOver: boolean;
  readonly queue: string;
}

/** What the jobs of one need were like: those that ended last, and those that are open. */
export interface Seen {
  /** Newest first. */
  readonly runs: readonly PastRun[];
  readonly waits: readonly SeenWait[];
}

export const nothingSeen: Seen = { runs: [], waits: [] };

/** Of each need and of each end. */
const keptJobs = 200;

/** `ms` of the run is null for an open job, `expectedMs` for one that ran twice or was not to wait. */
type SeenJob = Omit<SeenWait, "ms" | "expectedMs"> &
  Omit<PastRun, "ms"> & {
    readonly need: string;
    readonly ms: number | null;
    readonly waitedMs: number;
    readonly expectedMs: number | null;
  };

export async function readSeen(db: Db, needs: readonly string[]): Promise<Map<string, Seen>> {
  const { jobs } = schema;
  const list = sql.join(
    needs.map((need) => sql`${need}`),
    sql`, `,
  );
  const meanMs = sql`(p.estimate ->> 'meanMs')::float8`;
  const facts = sql`p.size_class as "sizeClass", p.queue, p.started_at is not null as "isOver",
    (extract(epoch from p.created_at) * 1000)::float8 as "sinceMs",
    (extract(epoch from coalesce(p.started_at, now()) - p.created_at) * 1000)::float8 as "waitedMs",
    case when p.attempt = (p.started_at is not null or p.status = 'waiting_for_engine')::int and ${meanMs} > 0
      then ${meanMs} end as "expectedMs",
    (p.estimate -> 'waitMs' ->> 1)::float8 as "toldMs"`;
  // By the time and not by the id, whose index would be read past all jobs that have ended.
  const result = await db.execute<SeenJob>(sql`
    select wanted.need, job.* from unnest(array[${list}]::text[]) as wanted(need) cross join lateral (
      (select (extract(epoch from p.ended_at - p.started_at) * 1000)::float8 as ms, ${facts}
        from ${jobs} p where p.need = wanted.need and p.status = 'completed' order by p.ended_at desc limit ${keptJobs})
      union all
      (select null, ${facts} from ${jobs} p
        where p.need = wanted.need and p.status in ${[...openStatuses]} order by p.created_at limit ${keptJobs})
    ) job`);
  const byNeed = Map.groupBy(result, ({ need }) => need);
  return new Map([...byNeed].map(([need, seen]) => [need, seenIn(seen)]));
}

function seenIn(jobs: readonly SeenJob[]): Seen {
  const runs = jobs.flatMap(({ ms, sizeClass, queue }) => (ms === null ? [] : [{ ms, sizeClass, queue }]));
  const waits = jobs.flatMap(({ waitedMs, expectedMs, ...wait }) =>
    expectedMs === null ? [] : [{ ...wait, ms: waitedMs, expectedMs }],
  );
  return { runs, waits };
}

/** Eight of ten waits lie between `low` and `high` times what was expected, where `slackMs` is added to both. */
export interface WaitRange {
  readonly low: number;
  readonly high: number;
  /** A tenth of a run: what counts as no difference between two waits. */
  readonly slackMs: number;
}

/** From so many waits that are over on their range is believed, and of at most so many, the newest, it is made. */
const enoughWaits = 30;
const keptWaits = 200;
/** Longer waits are of a machine that was off, not of the line. */
const mostTimes = 10;

/** What the waits in a queue say of the next one. */
export function waitRangeOf(seen: readonly Seen[], queue: string): WaitRange | null {
  const runs = seen.flatMap((each) => each.runs).filter((run) => run.queue === queue);
  const all = seen.flatMap((each) => each.waits).filter((wait) => wait.queue === queue);
  const over = all
    .filter(({ isOver }) => isOver)
    .toSorted((a, b) => b.sinceMs - a.sinceMs)
    .slice(0, keptWaits);
  if (over.length < enoughWaits || runs.length === 0) return null;
  const waits = [...over, ...all.filter(({ isOver }) => !isOver)];
  const slackMs = runs.reduce((sum, { ms }) => sum + ms, 0) / runs.length / 10;
  const { low, high } = middleOf(waits, slackMs);
  return { low, high: high * correctionOf(waits, slackMs), slackMs };
}

/**
 * The range of the ratios without the shortest and the longest tenth. A wait that is not over counts with the part that has
 * passed: in a line that grows the longest ones are still going on (the estimator of Kaplan and Meier).
 */
function middleOf(waits: readonly SeenWait[], slackMs: number): Omit<WaitRange, "slackMs"> {
  const ratioOf = ({ ms, expectedMs }: SeenWait) =>
    Math.min(mostTimes, (ms + slackMs) / (expectedMs + slackMs));
  const sorted = waits
    .map((wait) => ({ ratio: ratioOf(wait), isOver: wait.isOver }))
    .toSorted((a, b) => a.ratio - b.ratio);
  let still = 1;
  let low: number | null = null;
  for (const [at, { ratio, isOver }] of sorted.entries()) {
    if (isOver) still *= 1 - 1 / (sorted.length - at);
    if (low === null && still <= 0.9) low = ratio;
    if (still <= 0.1) return { low: low ?? ratio, high: ratio };
  }
  const longest = sorted.at(-1)?.ratio ?? 1;
  return { low: low ?? longest, high: longest };
}

/** How much one wait that was longer than told weighs, and the most that such waits widen a range. */
const correctedBy = 0.05;
const mostCorrected = 3;

/**
 * Widens the range until one wait of ten is longer than told: what no line shows, who comes later and is served first,
 * changes with the load.
 */
function correctionOf(waits: readonly SeenWait[], slackMs: number): number {
  const isLate = ({ ms, toldMs }: SeenWait) => ms > toldMs + slackMs;
  const late = waits.filter(isLate).length;
  const decided = waits.filter((wait) => wait.isOver || isLate(wait)).length;
  return Math.min(mostCorrected, Math.max(1, Math.exp(correctedBy * (late - decided / 10))));
}
