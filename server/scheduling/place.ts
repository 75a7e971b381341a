import type { Db, Placement, WeighedPlace, Tx } from "../db/index.ts";
import { type EngineName, enginesFor, type JobKind, localEngine, type Need, needOf } from "../engines.ts";
import { AppError, type Config, type QueueNeeds } from "../platform/index.ts";
import { type Candidate, missingEngineReason } from "./candidates.ts";
import { isGpuQueue, type LivePlace, livePlaces, type Place } from "./places.ts";
import { recallPlaces } from "./snapshot.ts";

/** The chosen queue and candidate of a request. */
export interface Placed {
  readonly candidate: Candidate;
  readonly queue: string;
  readonly placement: Placement;
}

export interface PlaceInput {
  readonly kind: JobKind;
  readonly candidates: readonly Candidate[];
  /** How old the places may be. */
  readonly maxAgeMs: number;
}

/**
 * Places a request: the best live candidate, in the queue with room where it should be done first. Without a live one
 * the best candidate of a node of the last 24 hours or of the local engine, and the job waits there. Throws `no_engine`
 * when there is none.
 */
export async function place(
  db: Db,
  config: Config,
  { kind, candidates, maxAgeMs }: PlaceInput,
): Promise<Placed> {
  const needs = candidates.map((candidate) => candidate.need);
  const places = await recallPlaces(db, needs, maxAgeMs);
  const candidate = chooseCandidate(candidates, places);
  if (!candidate) throw new AppError("no_engine", missingEngineReason(kind, candidates));
  const own = places.filter((place) => place.need === candidate.need);
  const live = own.filter((place) => place.slots > 0);
  const queue =
    (live.length > 0 ? chooseQueue(live, config) : own[0])?.queue ?? leastDemandingQueue(config.queues);
  if (queue === null) throw new AppError("internal", "The configuration names no queue.");
  const chosen = { queue, need: candidate.need };
  const weighed = weigh({ candidates, places, chosen, config });
  return { candidate, queue, placement: { chosen, isLive: live.length > 0, weighed } };
}

function chooseCandidate(candidates: readonly Candidate[], places: readonly Place[]): Candidate | undefined {
  const isLive = ({ need }: Candidate) => places.some((place) => place.need === need && place.slots > 0);
  const isKnown = ({ engine, need }: Candidate) =>
    engine === localEngine.name || places.some((place) => place.need === need);
  return candidates.find(isLive) ?? candidates.find(isKnown);
}

const waitOf = ({ workMs, slots }: Place) => workMs / Math.max(1, slots) / 1_000;

/** Seconds until a new job would be done. The CPU factor makes a card with one waiting job better than an idle CPU server. */
function doneIn(place: Place, config: Config): number {
  const factor = isGpuQueue(config, place.queue) ? 1 : config.timing.cpuRunFactor;
  return waitOf(place) + (place.runMs * factor) / 1_000;
}

/** The place where the job is done first, on a tie the more demanding queue; full lines only when no line has room. */
function chooseQueue(live: readonly Place[], config: Config): Place | undefined {
  const { limits, queues } = config;
  const rank = Object.keys(queues);
  const sorted = live.toSorted(
    (a, b) => doneIn(a, config) - doneIn(b, config) || rank.indexOf(a.queue) - rank.indexOf(b.queue),
  );
  return sorted.find((place) => place.waiting < limits.maxWaiting) ?? sorted[0];
}

interface Weighing {
  readonly candidates: readonly Candidate[];
  readonly places: readonly Place[];
  readonly chosen: Placement["chosen"];
  readonly config: Config;
}

function weigh({ candidates, places, chosen, config }: Weighing): WeighedPlace[] {
  const taken = places.find(({ need, queue }) => need === chosen.need && queue === chosen.queue);
  return candidates.flatMap(({ need }): WeighedPlace[] => {
    const own = places.filter((place) => place.need === need);
    if (own.length === 0) {
      const isChosen = need === chosen.need;
      return [
        { queue: isChosen ? chosen.queue : null, need, waitS: null, refused: isChosen ? null : "never_seen" },
      ];
    }
    return own.map((place) => ({
      queue: place.queue,
      need,
      waitS: place.slots > 0 ? Math.round(waitOf(place)) : null,
      refused: refusalOf(place, { chosen, taken, config }),
    }));
  });
}

type Taking = Pick<Weighing, "chosen" | "config"> & { readonly taken: Place | undefined };

function refusalOf(place: Place, { chosen, taken, config }: Taking): WeighedPlace["refused"] {
  if (place.need === chosen.need && place.queue === chosen.queue) return null;
  if (place.slots === 0) return "no_server";
  if (place.need !== chosen.need) return "less_suited";
  if (place.waiting >= config.limits.maxWaiting) return "full";
  return taken && waitOf(place) < waitOf(taken) ? "slower" : "busier";
}

export interface DowngradeRequest {
  readonly kind: JobKind;
  readonly engine: EngineName;
  readonly workflow: string | null;
  readonly need: Need;
  readonly queue: string;
  readonly params: Readonly<Record<string, unknown>>;
  readonly roles: ReadonlySet<string>;
}

/** A place of lower speed or quality. */
export interface Downgrade {
  readonly queue: string;
  readonly need: Need;
  readonly engine: EngineName;
  readonly workflow: string | null;
}

/**
 * The place for a job that needs more memory than any graphics card has: the same workflow on a CPU queue, else another
 * engine for the kind on a CPU queue. Null when none is live.
 */
export async function findDowngrade(
  db: Db | Tx,
  config: Config,
  request: DowngradeRequest,
): Promise<Downgrade | null> {
  const { kind, engine, workflow, need, queue } = request;
  const isCpu = ({ queue: name }: LivePlace) => (config.queues[name]?.minVramGib ?? 0) === 0;
  const live = (await livePlaces(db)).filter(isCpu);
  const same = live.find((place) => place.need === need && place.queue !== queue);
  if (same) return { queue: same.queue, need, engine, workflow };
  for (const other of enginesFor(request).filter((name) => name !== "comfyui" && name !== engine)) {
    const otherNeed = needOf({ engine: other, kind, workflow: null });
    const place = live.find((candidate) => candidate.need === otherNeed);
    if (place) return { queue: place.queue, need: otherNeed, engine: other, workflow: null };
  }
  return null;
}

/**
 * The queue with the lowest requirements; on a tie the later one in the configuration, which lists the most demanding
 * queue first. Null without queues.
 */
export function leastDemandingQueue(queues: Config["queues"]): string | null {
  const sorted = Object.entries(queues)
    .toReversed()
    .toSorted(([, a], [, b]) => compareNeeds(a, b));
  return sorted[0]?.[0] ?? null;
}

function compareNeeds(a: QueueNeeds, b: QueueNeeds): number {
  return a.minVramGib - b.minVramGib || a.minCores - b.minCores || a.minMemoryGib - b.minMemoryGib;
}
