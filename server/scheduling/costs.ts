import { keptBy } from "../platform/index.ts";
import { sql } from "drizzle-orm";
import { type Db, schema } from "../db/index.ts";
import type { EngineName } from "../engines.ts";

/** What decides how long a run takes. */
interface RunOf {
  readonly need: string;
  readonly queue: string;
  readonly sizeClass: number;
}

/** One past run. */
interface PastRun {
  readonly ms: number;
  readonly sizeClass: number;
  readonly queue: string;
}

/** How long a job waited from its submit on, or has waited so far, and what was expected then. */
interface SeenWait {
  readonly ms: number;
  readonly expectedMs: number;
  readonly isOver: boolean;
  readonly queue: string;
}

/** How long a run takes. */
export interface RunCost {
  readonly meanMs: number;
  readonly varianceMs2: number;
  /** Times of the past runs behind it, newest first; empty when it is assumed for the engine. */
  readonly runsMs: readonly number[];
  /** Enough past runs of the same need, queue and size class; else a guess, which must not spend money. */
  readonly isMeasured: boolean;
  /** The past runs were in the same queue. */
  readonly isOfQueue: boolean;
  /**
   * Between these lie eight of ten waits of the need and queue in parts of what was expected, both with `waitSlackMs`
   * added; null without enough of them.
   */
  readonly waitRatios: readonly [low: number, high: number] | null;
  /** A tenth of a run: what counts as no difference between two waits. */
  readonly waitSlackMs: number;
}

export type RunCosts = (run: RunOf) => RunCost;

/** From so many past runs on a time counts as measured. */
const enoughRuns = 5;
const keptRuns = 200;
const recentRuns = 50;
/** From so many waits that are over on their range is believed. */
const enoughWaits = 30;
/** Age limit of cached runs, so that many submits at once read them once. */
const believedForMs = 2_000;
/** Assumed for a need without past runs. */
const assumedRunMs: Record<EngineName, number> = {
  comfyui: 30_000,
  iopaint: 10_000,
  local: 10_000,
  cloud: 20_000,
};

interface Read {
  readonly readAtMs: number;
  readonly seen: Seen;
  /** By queue and size class. */
  readonly costs: Map<string, RunCost>;
}

interface Seen {
  /** Newest first. */
  readonly runs: readonly PastRun[];
  readonly waits: readonly SeenWait[];
}

const nothingSeen: Seen = { runs: [], waits: [] };

const readsOf = keptBy((_db: Db) => new Map<string, Read>());

/** Run costs of these needs, at most two seconds old. Do not call it inside a transaction: it takes a connection. */
export async function readRunCosts(db: Db, needs: readonly string[]): Promise<RunCosts> {
  const known = readsOf(db);
  const now = performance.now();
  const missing = [...new Set(needs)].filter(
    (need) => now - (known.get(need)?.readAtMs ?? -Infinity) > believedForMs,
  );
  if (missing.length > 0) {
    const seen = await readSeen(db, missing);
    for (const need of missing)
      known.set(need, { readAtMs: now, seen: seen.get(need) ?? nothingSeen, costs: new Map() });
  }
  return (run) => costIn(known.get(run.need), run);
}

function costIn(read: Read | undefined, run: RunOf): RunCost {
  const key = `${run.queue} ${run.sizeClass}`;
  const cost = read?.costs.get(key) ?? costOf(read?.seen ?? nothingSeen, run);
  read?.costs.set(key, cost);
  return cost;
}

/** Of a job that has ended, or of one that has not (`ms` is null). `expectedMs` is null where it ran twice or did not wait. */
type SeenJob = {
  readonly need: string;
  readonly ms: number | null;
  readonly sizeClass: number;
  readonly queue: string;
  readonly waitedMs: number;
  readonly expectedMs: number | null;
  readonly isOver: boolean;
};

async function readSeen(db: Db, needs: readonly string[]): Promise<Map<string, Seen>> {
  const { jobs } = schema;
  const list = sql.join(
    needs.map((need) => sql`${need}`),
    sql`, `,
  );
  const facts = sql`p.size_class as "sizeClass", p.queue, p.started_at is not null as "isOver",
    (extract(epoch from coalesce(p.started_at, now()) - p.created_at) * 1000)::float8 as "waitedMs",
    case when p.attempt <= 1 and (p.estimate ->> 'meanMs')::float8 > 0 then (p.estimate ->> 'meanMs')::float8 end as "expectedMs"`;
  const result = await db.execute<SeenJob>(sql`
    select wanted.need, job.* from unnest(array[${list}]::text[]) as wanted(need) cross join lateral (
      (select (extract(epoch from p.ended_at - p.started_at) * 1000)::float8 as ms, ${facts}
        from ${jobs} p where p.need = wanted.need and p.status = 'completed' order by p.ended_at desc limit ${keptRuns})
      union all
      (select null, ${facts} from ${jobs} p
        where p.need = wanted.need and p.status in ('pending', 'queued', 'processing') order by p.id limit ${keptRuns})
    ) job`);
  const byNeed = Map.groupBy(result, ({ need }) => need);
  return new Map([...byNeed].map(([need, seen]) => [need, seenIn(seen)]));
}

function seenIn(jobs: readonly SeenJob[]): Seen {
  const runs = jobs.flatMap(({ ms, sizeClass, queue }) => (ms === null ? [] : [{ ms, sizeClass, queue }]));
  const waits = jobs.flatMap(({ waitedMs, expectedMs, isOver, queue }) =>
    expectedMs === null ? [] : [{ ms: waitedMs, expectedMs, isOver, queue }],
  );
  return { runs, waits };
}

/** The nearest past runs: of the queue and size class, else of the class, else of the queue, else any of the need. */
function costOf({ runs, waits: all }: Seen, { need, queue, sizeClass }: RunOf): RunCost {
  const ofQueue = runs.filter((run) => run.queue === queue);
  const same = ofQueue.filter((run) => run.sizeClass === sizeClass);
  const waits = all.filter((wait) => wait.queue === queue);
  if (same.length >= enoughRuns) return costFrom(same, { isMeasured: true, isOfQueue: true }, waits);
  const ofClass = runs.filter((run) => run.sizeClass === sizeClass);
  const nearest = [ofClass, ofQueue].find((group) => group.length >= enoughRuns) ?? runs;
  if (nearest.length === 0) return assumedCost(need);
  const isOfQueue = nearest.every((run) => run.queue === queue);
  return costFrom(nearest, { isMeasured: false, isOfQueue }, waits);
}

/** Longer waits are of a machine that was off, not of the line. */
const mostTimes = 10;

function costFrom(
  runs: readonly PastRun[],
  quality: Pick<RunCost, "isMeasured" | "isOfQueue">,
  waits: readonly SeenWait[],
): RunCost {
  const runsMs = runs.slice(0, recentRuns).map(({ ms }) => ms);
  const meanMs = runsMs.reduce((sum, ms) => sum + ms, 0) / runsMs.length;
  const squares = runsMs.reduce((sum, ms) => sum + (ms - meanMs) ** 2, 0);
  const varianceMs2 = runsMs.length === 1 ? (meanMs / 2) ** 2 : squares / (runsMs.length - 1);
  const waitSlackMs = meanMs / 10;
  return { meanMs, varianceMs2, runsMs, ...quality, waitSlackMs, waitRatios: ratiosOf(waits, waitSlackMs) };
}

/**
 * The range without the shortest and the longest tenth. A wait that is not over counts with the part that has passed: in a
 * line that grows the longest ones are still going on (the estimator of Kaplan and Meier).
 */
function ratiosOf(waits: readonly SeenWait[], slackMs: number): RunCost["waitRatios"] {
  if (waits.filter(({ isOver }) => isOver).length < enoughWaits) return null;
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
    if (still <= 0.1) return [low ?? ratio, ratio];
  }
  const longest = sorted.at(-1)?.ratio ?? 1;
  return [low ?? longest, longest];
}

function assumedCost(need: string): RunCost {
  // Safe: a need starts with the name of its engine.
  const meanMs = assumedRunMs[need.split("/")[0] as EngineName];
  const unknown = {
    runsMs: [],
    isMeasured: false,
    isOfQueue: false,
    waitRatios: null,
    waitSlackMs: meanMs / 10,
  };
  return { meanMs, varianceMs2: (meanMs / 2) ** 2, ...unknown };
}

/** What is left of a run. `sureMs` is the part that past runs vouch for. */
export interface Left {
  readonly meanMs: number;
  readonly sureMs: number;
}

/** The part of its mean that a run without a longer past run is assumed to need still. */
const overdueShare = 0.25;

/** The time that a run still needs, from the past runs that took longer than it has taken so far. */
export function leftOf({ meanMs, runsMs, isMeasured }: RunCost, elapsedMs: number): Left {
  const longer = runsMs.filter((ms) => ms > elapsedMs).map((ms) => ms - elapsedMs);
  if (longer.length === 0) return { meanMs: Math.max(meanMs - elapsedMs, meanMs * overdueShare), sureMs: 0 };
  const mean = longer.reduce((sum, ms) => sum + ms, 0) / longer.length;
  return { meanMs: mean, sureMs: isMeasured ? Math.min(...longer) : 0 };
}

/** 2 × log2 of megapixels × steps, rounded: runs of one size class take about the same time on one server. */
export function sizeClassOf({ pixels, steps }: { pixels: number; steps: number }): number {
  const work = Math.max(0.01, (pixels / 1_000_000) * Math.max(1, steps));
  return Math.round(2 * Math.log2(work));
}
