import type { Db, Estimate } from "../db/index.ts";
import { localEngine, type Need } from "../engines.ts";
import { leftOf, readRunCosts, type RunCost, type RunCosts } from "./costs.ts";
import { type LineOf, type Lines, readLines } from "./line.ts";

/** A waiting job, or a new one, with what it is. */
export interface LineTarget extends LineOf {
  readonly need: Need;
  readonly sizeClass: number;
}

/** How sure a time is: from past runs, or assumed. */
type Quality = "measured" | "assumed";

/** The answer to "when would this start here, and how sure is that": the same for placing, telling and buying. Times in ms. */
export interface Wait {
  /** How many jobs are served before it. */
  readonly position: number;
  /** False while no live node can run it; the times then have no meaning. */
  readonly isLive: boolean;
  /**
   * What the job waits for: `worker` when no live worker could run its need, `server` when a live worker lacks the server, `start`
   * when a worker is started for it, whose times then count; null when it is live.
   */
  readonly awaits: "worker" | "server" | "start" | null;
  /** As it is told. */
  readonly waitMs: readonly [low: number, high: number];
  /** What past runs vouch for: the wait is hardly shorter, whatever the rest takes. Placing and spending go by it. */
  readonly sureMs: number;
  readonly meanMs: number;
  readonly quality: Quality;
  /** Its own run there. */
  readonly cost: RunCost;
}

/** One slot of a live node, with the work that it does before the target. Times in ms. */
interface Lane {
  readonly needs: ReadonlySet<string>;
  readonly meanMs: number;
  readonly varianceMs2: number;
  /** The part of it that past runs vouch for. */
  readonly sureMs: number;
  readonly sureVarianceMs2: number;
  readonly isMeasured: boolean;
}

/** What a job in a queue, whatever its need, has before it. */
export interface Outlook {
  readonly queue: string;
  readonly position: number;
  readonly lanes: readonly Lane[];
  /** Needs without a slot that a live node could serve in the last 24 hours. */
  readonly missed: ReadonlySet<string>;
}

/** Half the width of the range in standard deviations: about 80 % of the waits should fall inside. */
const spread = 1.28;
const assumedRunMs: readonly [number, number] = [5_000, 120_000];
const assumedQuickMs: readonly [number, number] = [500, 10_000];

/**
 * For each target the number of jobs that are served before it under fair shares, and its expected wait. Reads the lines
 * once. Do not call it inside a transaction: it takes a connection of its own.
 */
export async function readWaits(db: Db, targets: readonly LineTarget[]): Promise<readonly Wait[]> {
  if (targets.length === 0) return [];
  const needs = targets.map(({ need }) => need);
  const { outlooks, costs } = await readOutlooks(db, targets, needs);
  return targets.flatMap((target, at) => {
    const outlook = outlooks[at];
    return outlook ? [waitIn(outlook, target.need, costs(target))] : [];
  });
}

/** The outlook of each target for jobs of these needs, and the costs of all that is involved. */
export async function readOutlooks(
  db: Db,
  targets: readonly LineOf[],
  needs: readonly Need[],
): Promise<{ readonly outlooks: readonly Outlook[]; readonly costs: RunCosts }> {
  const lines = await readLines(db, targets, needs);
  const involved = [...lines.ahead, ...lines.running].map(({ need }) => need);
  const costs = await readRunCosts(db, [...needs, ...involved]);
  const outlooks = targets.map(({ queue }, at) => outlookOf(lines, { queue, at }, costs));
  return { outlooks, costs };
}

function outlookOf(
  { ahead, nodes, running }: Lines,
  { queue, at }: { readonly queue: string; readonly at: number },
  costs: RunCosts,
): Outlook {
  const own = nodes.filter((node) => node.queue === queue);
  const free = own.flatMap((node): Lane[] => {
    const held = running.filter((job) => job.queue === queue && job.nodeId === node.nodeId);
    const busy = held.slice(0, node.slots).map((job) => busyLane(node.needs, costs(job), job.elapsedMs));
    const idle = Array.from({ length: Math.max(0, node.slots - busy.length) }, () => idleLane(node.needs));
    return [...busy, ...idle];
  });
  const before = ahead.filter(({ target }) => target === at);
  // Jobs that few slots can serve first: the others then take what is left.
  const served = before
    .map((group) => ({ ...group, able: free.filter(({ needs }) => needs.has(group.need)).length }))
    .toSorted((a, b) => a.able - b.able);
  let lanes: readonly Lane[] = free;
  for (const { need, sizeClass, n } of served)
    lanes = withJobs(lanes, { need, n, cost: costs({ need, queue, sizeClass }) });
  const live = new Set(own.flatMap(({ needs, slots }) => (slots > 0 ? needs : [])));
  const missed = new Set(own.flatMap(({ seen }) => seen).filter((need) => !live.has(need)));
  return { queue, position: before.reduce((sum, { n }) => sum + n, 0), lanes, missed };
}

function idleLane(needs: readonly string[]): Lane {
  const none = { meanMs: 0, varianceMs2: 0, sureMs: 0, sureVarianceMs2: 0 };
  return { needs: new Set(needs), ...none, isMeasured: true };
}

function busyLane(needs: readonly string[], cost: RunCost, elapsedMs: number): Lane {
  const { meanMs, sureMs } = leftOf(cost, elapsedMs);
  const varianceMs2 = Math.min(cost.varianceMs2, meanMs ** 2);
  const { isMeasured } = cost;
  return { needs: new Set(needs), meanMs, varianceMs2, sureMs, sureVarianceMs2: 0, isMeasured };
}

interface Jobs {
  readonly need: string;
  readonly n: number;
  readonly cost: RunCost;
}

/** Gives each job to the able slot that is free first; without one it waits for another node and takes no slot. */
function withJobs(lanes: readonly Lane[], { need, n, cost }: Jobs): readonly Lane[] {
  const able = lanes.filter(({ needs }) => needs.has(need)).map((lane) => ({ lane, given: 0 }));
  if (able.length === 0) return lanes;
  const freeAt = ({ lane, given }: (typeof able)[number]) => lane.meanMs + given * cost.meanMs;
  for (let left = n; left > 0; left -= 1) {
    let first = able[0];
    for (const one of able) if (first === undefined || freeAt(one) < freeAt(first)) first = one;
    if (first) first.given += 1;
  }
  const given = new Map(able.map((one) => [one.lane, one.given]));
  return lanes.map((lane) => loaded(lane, cost, given.get(lane) ?? 0));
}

function loaded(lane: Lane, { meanMs, varianceMs2, isMeasured }: RunCost, jobs: number): Lane {
  if (jobs === 0) return lane;
  const sure = isMeasured ? jobs : 0;
  return {
    needs: lane.needs,
    meanMs: lane.meanMs + jobs * meanMs,
    varianceMs2: lane.varianceMs2 + jobs * varianceMs2,
    sureMs: lane.sureMs + sure * meanMs,
    sureVarianceMs2: lane.sureVarianceMs2 + sure * varianceMs2,
    isMeasured: lane.isMeasured && isMeasured,
  };
}

/** The wait of a job with this need: until the first able slot is free. */
export function waitIn({ position, lanes, missed }: Outlook, need: Need, cost: RunCost): Wait {
  const able = lanes.filter(({ needs }) => needs.has(need));
  const isLive = able.length > 0;
  const known = { position, isLive, awaits: isLive ? null : awaitedFor(need, missed), cost };
  const least = (of: (lane: Lane) => number) => able.reduce((min, lane) => Math.min(min, of(lane)), Infinity);
  const meanMs = isLive ? Math.round(least((lane) => lane.meanMs)) : 0;
  if (meanMs === 0)
    return { ...known, waitMs: [0, 0], sureMs: 0, meanMs, quality: isLive ? "measured" : "assumed" };
  // The slots share what comes before, so their chances balance out.
  const deviation = (of: (lane: Lane) => number) =>
    (spread * Math.sqrt(able.reduce((sum, lane) => sum + of(lane), 0))) / able.length;
  const sure = least((lane) => lane.sureMs) - deviation((lane) => lane.sureVarianceMs2);
  const sureMs = Math.max(0, Math.round(sure));
  const [low, high] = seenRange(meanMs, cost) ?? [sureMs, meanMs + deviation((lane) => lane.varianceMs2)];
  return {
    ...known,
    waitMs: [Math.max(0, Math.round(Math.min(low, sureMs))), Math.round(Math.max(high, sureMs))],
    sureMs,
    meanMs,
    quality: able.every(({ isMeasured }) => isMeasured) ? "measured" : "assumed",
  };
}

/** The wait where a worker is started on demand: its start, and then all that is before the job, on one worker; more may come. */
export function startingWait(wait: Wait, startMs: number): Wait {
  const longest = Math.round(startMs + wait.position * wait.cost.meanMs);
  return {
    ...wait,
    awaits: "start",
    waitMs: [startMs, longest],
    sureMs: startMs,
    meanMs: longest,
    quality: "assumed",
  };
}

/**
 * What jobs waited, or have waited so far, that were expected to wait as long. It holds what no line shows: who comes later
 * and is served first, since owners take turns. Null without enough of them.
 */
function seenRange(meanMs: number, { waitRange }: RunCost): readonly [number, number] | null {
  if (!waitRange) return null;
  const { low, high, slackMs } = waitRange;
  const timesMs = (ratio: number) => (meanMs + slackMs) * ratio - slackMs;
  return [timesMs(low), timesMs(high)];
}

/** The outlook of the next job of the same owner, after one of this need was accepted. */
export function behindOneMore(outlook: Outlook, need: Need, cost: RunCost): Outlook {
  const lanes = withJobs(outlook.lanes, { need, n: 1, cost });
  return { ...outlook, position: outlook.position + 1, lanes };
}

/** The local engine has no server: without a slot it is the worker that is missing. */
function awaitedFor(need: Need, missed: ReadonlySet<string>): "worker" | "server" {
  return missed.has(need) && !need.startsWith(`${localEngine.name}/`) ? "server" : "worker";
}

/** The estimate of a job: its wait, and its run time from the nearest past runs. */
export function toEstimate({ position, isLive, awaits, waitMs, meanMs, quality, cost }: Wait): Estimate {
  const runs = cost.runsMs.toSorted((a, b) => a - b);
  // How long a start took teaches nothing about a line.
  const expected = awaits === "start" ? {} : { meanMs };
  const wait = { position, isLive, waitMs, ...expected, quality };
  if (runs.length === 0) {
    const runMs = cost.meanMs < assumedRunMs[0] ? assumedQuickMs : assumedRunMs;
    return { ...wait, runMs, runs: 0 };
  }
  const at = (part: number) => Math.round(runs[Math.round(part * (runs.length - 1))] ?? 0);
  // The middle 80 %.
  return { ...wait, runMs: [at(0.1), at(0.9)], runs: runs.length };
}
