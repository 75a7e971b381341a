import { cloudQueue, localEngine, type Need } from "../engines.ts";
import type { Db } from "../db/index.ts";
import type { Config } from "../platform/index.ts";
import type { Candidate } from "./candidates.ts";
import { leastDemandingQueue } from "./downgrade.ts";
import { startingWait, type Wait, waitIn } from "./waits.ts";
import { isGpuQueue, type Place } from "./places.ts";
import { recallOutlooks, recallPlaces, type Share } from "./snapshot.ts";

/** A candidate at a place that a node of the last 24 hours could serve, with the answer when it would start there. */
export interface Option {
  readonly candidate: Candidate;
  readonly queue: string;
  /** Live slots; 0 while no node can run it. */
  readonly slots: number;
  readonly waiting: number;
  /** Since a node could last serve it; 0 while one can. */
  readonly awayMs: number;
  /** Its servers may have too small a card. */
  readonly isTight: boolean;
  /** Until a worker that is started for it takes a job; null where none is started or one is live. */
  readonly startMs: number | null;
  readonly wait: Wait;
}

export const isLiveOption = ({ slots, wait }: Option): boolean => slots > 0 && wait.isLive;

/** Whether its wait has a meaning: a node is live, or one is started for the job. */
export const isReadyOption = (option: Option): boolean => isLiveOption(option) || option.startMs !== null;

export interface OptionInput {
  readonly candidates: readonly Candidate[];
  readonly share: Share;
  /** How old the places and outlooks may be. */
  readonly maxAgeMs: number;
  /** Of a run of the candidate. */
  readonly sizeClassOf: (candidate: Candidate) => number;
}

/** All places of the candidates that nodes of the last 24 hours could serve, and the local engine's in any case, best candidate first. */
export async function readOptions(
  db: Db,
  config: Pick<Config, "queues">,
  { candidates, share, maxAgeMs, sizeClassOf }: OptionInput,
): Promise<readonly Option[]> {
  const needs = [...new Set(candidates.map(({ need }) => need))];
  const places = [...(await recallPlaces(db, config, { needs, maxAgeMs }))];
  const unseen = needs.filter((need) => isLocal(need) && !places.some((place) => place.need === need));
  const light = leastDemandingQueue(config.queues);
  if (light !== null) places.push(...unseen.map((need) => neverSeen(light, need)));
  if (places.length === 0) return [];
  const queues = [...new Set(places.map(({ queue }) => queue))];
  const { outlooks, costs } = await recallOutlooks(db, { share, queues, needs, maxAgeMs });
  return candidates.flatMap((candidate) => {
    const { need } = candidate;
    const sizeClass = sizeClassOf(candidate);
    return places
      .filter((place) => place.need === need)
      .flatMap(({ queue, startMs, ...place }): Option[] => {
        const outlook = outlooks.find((one) => one.queue === queue);
        if (!outlook) return [];
        const line = waitIn(outlook, need, costs({ need, queue, sizeClass }));
        const wait = startMs === null ? line : startingWait(line, startMs);
        return [{ ...place, candidate, queue, startMs, wait }];
      });
  });
}

const isLocal = (need: Need) => need.startsWith(`${localEngine.name}/`);

/** A worker brings the local engine with it, so its kinds count as known before the first worker. */
function neverSeen(queue: string, need: Need): Place {
  return { queue, need, slots: 0, waiting: 0, awayMs: Infinity, isTight: false, startMs: null };
}

/** Expected ms until a new job would be done. The CPU factor makes a card with one waiting job better than an idle CPU server. */
export function doneInMs({ queue, wait }: Option, config: Pick<Config, "queues" | "timing">): number {
  const { cost, meanMs } = wait;
  const isSlow = queue !== cloudQueue && !isGpuQueue(config, queue) && !cost.isOfQueue;
  return meanMs + cost.meanMs * (isSlow ? config.timing.cpuRunFactor : 1);
}

/** The option that is done first, on a tie in the more demanding queue; full lines only when no line has room. */
function soonest(options: readonly Option[], config: Config): Option | undefined {
  const rank = Object.keys(config.queues);
  const sorted = options.toSorted(
    (a, b) => doneInMs(a, config) - doneInMs(b, config) || rank.indexOf(a.queue) - rank.indexOf(b.queue),
  );
  return sorted.find(({ waiting }) => waiting < config.limits.maxWaiting) ?? sorted[0];
}

/**
 * The best own candidate that is live, one for which the cards are large enough first, in the queue where it is done first. A
 * place that is started on demand comes before it where it runs the same or a better candidate, and is done sooner with the
 * start. Without either the best one that was seen.
 */
export function homeOf(options: readonly Option[], config: Config): Option | undefined {
  const own = options.filter(({ candidate }) => candidate.engine !== "cloud");
  const live = bestOf(own.filter(isLiveOption), config);
  const started = bestOf(
    own.filter(({ startMs }) => startMs !== null),
    config,
  );
  if (!live || !started) return live ?? started ?? own[0];
  const rankOf = ({ candidate }: Option) => own.findIndex((option) => option.candidate === candidate);
  const isBetter = rankOf(started) <= rankOf(live) && doneInMs(started, config) < doneInMs(live, config);
  return isBetter ? started : live;
}

/** Of the best candidate, where the cards are large enough before any other, the option that is done first. */
function bestOf(options: readonly Option[], config: Config): Option | undefined {
  const best = (options.find(({ isTight }) => !isTight) ?? options[0])?.candidate;
  return soonest(
    options.filter(({ candidate }) => candidate === best),
    config,
  );
}
