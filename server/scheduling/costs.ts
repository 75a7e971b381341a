import { keptBy } from "../platform/index.ts";
import type { Db } from "../db/index.ts";
import { type EngineName, needOf, plainKinds } from "../engines.ts";
import { nothingSeen, type PastRun, readSeen, type Seen, type WaitRange, waitRangeOf } from "./seen.ts";

/** What decides how long a run takes. */
interface RunOf {
  readonly need: string;
  readonly queue: string;
  readonly sizeClass: number;
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
  /** What waits in the queue were like; null without enough of them. */
  readonly waitRange: WaitRange | null;
}

export type RunCosts = (run: RunOf) => RunCost;

/** From so many past runs on a time counts as measured. */
const enoughRuns = 5;
const recentRuns = 50;
/** Age limit of cached runs, so that many submits at once read them once. */
const believedForMs = 2_000;
/** Assumed for a need without past runs. */
const assumedRunMs: Record<EngineName, number> = {
  comfyui: 30_000,
  iopaint: 10_000,
  local: 10_000,
  cloud: 20_000,
};

/** Without a model it is a matter of seconds. */
const quickNeeds: ReadonlySet<string> = new Set(
  plainKinds.map((kind) => needOf({ engine: "local", kind, workflow: null })),
);
const quickRunMs = 2_000;

interface Read {
  readonly readAtMs: number;
  readonly seen: Seen;
  /** By queue and size class. */
  readonly costs: Map<string, RunCost>;
}

interface Reads {
  readonly byNeed: Map<string, Read>;
  /** By queue, of all needs that were read; emptied by each read. */
  readonly waitRanges: Map<string, WaitRange | null>;
}

const readsOf = keptBy((_db: Db): Reads => ({ byNeed: new Map(), waitRanges: new Map() }));

/** Run costs of these needs, at most two seconds old. Do not call it inside a transaction: it takes a connection. */
export async function readRunCosts(db: Db, needs: readonly string[]): Promise<RunCosts> {
  const reads = readsOf(db);
  const { byNeed, waitRanges } = reads;
  const now = performance.now();
  const missing = [...new Set(needs)].filter(
    (need) => now - (byNeed.get(need)?.readAtMs ?? -Infinity) > believedForMs,
  );
  if (missing.length > 0) {
    const seen = await readSeen(db, missing);
    for (const need of missing)
      byNeed.set(need, { readAtMs: now, seen: seen.get(need) ?? nothingSeen, costs: new Map() });
    waitRanges.clear();
  }
  return (run) => costIn(reads, run);
}

function costIn(reads: Reads, run: RunOf): RunCost {
  const read = reads.byNeed.get(run.need);
  const key = `${run.queue} ${run.sizeClass}`;
  const cost = read?.costs.get(key) ?? {
    ...costOf(read?.seen.runs ?? [], run),
    waitRange: waitRangeIn(reads, run.queue),
  };
  read?.costs.set(key, cost);
  return cost;
}

/** Of jobs of all needs, since they wait in one line. */
function waitRangeIn({ byNeed, waitRanges }: Reads, queue: string): WaitRange | null {
  const known = waitRanges.get(queue);
  if (known !== undefined) return known;
  const range = waitRangeOf(
    [...byNeed.values()].map(({ seen }) => seen),
    queue,
  );
  waitRanges.set(queue, range);
  return range;
}

type OwnCost = Omit<RunCost, "waitRange">;

/** The nearest past runs: of the queue and size class, else of the class, else of the queue, else any of the need. */
function costOf(runs: readonly PastRun[], { need, queue, sizeClass }: RunOf): OwnCost {
  const ofQueue = runs.filter((run) => run.queue === queue);
  const same = ofQueue.filter((run) => run.sizeClass === sizeClass);
  if (same.length >= enoughRuns) return costFrom(same, { isMeasured: true, isOfQueue: true });
  const ofClass = runs.filter((run) => run.sizeClass === sizeClass);
  const nearest = [ofClass, ofQueue].find((group) => group.length >= enoughRuns) ?? runs;
  if (nearest.length === 0) return assumedCost(need);
  const isOfQueue = nearest.every((run) => run.queue === queue);
  return costFrom(nearest, { isMeasured: false, isOfQueue });
}

function costFrom(runs: readonly PastRun[], quality: Pick<RunCost, "isMeasured" | "isOfQueue">): OwnCost {
  const runsMs = runs.slice(0, recentRuns).map(({ ms }) => ms);
  const meanMs = runsMs.reduce((sum, ms) => sum + ms, 0) / runsMs.length;
  const squares = runsMs.reduce((sum, ms) => sum + (ms - meanMs) ** 2, 0);
  const varianceMs2 = runsMs.length === 1 ? (meanMs / 2) ** 2 : squares / (runsMs.length - 1);
  return { meanMs, varianceMs2, runsMs, ...quality };
}

function assumedCost(need: string): OwnCost {
  // Safe: a need starts with the name of its engine.
  const meanMs = quickNeeds.has(need) ? quickRunMs : assumedRunMs[need.split("/")[0] as EngineName];
  return { meanMs, varianceMs2: (meanMs / 2) ** 2, runsMs: [], isMeasured: false, isOfQueue: false };
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
