import type { CloudPolicy, Placement, WeighedPlace } from "../db/index.ts";
import { cloudQueue, localEngine } from "../engines.ts";
import type { Config } from "../platform/index.ts";
import { type Candidate, priceOf } from "./candidates.ts";
import { isGpuQueue, type Place } from "./places.ts";

interface Choice {
  /** Best first; own ones before those of providers. */
  readonly candidates: readonly Candidate[];
  readonly places: readonly Place[];
  readonly policy: CloudPolicy;
  readonly config: Config;
}

/** The candidate that the policy prefers; undefined when none was ever seen. */
export function chooseCandidate(choice: Choice): Candidate | undefined {
  const { candidates, places } = choice;
  const isLive = ({ need }: Candidate) => places.some((place) => place.need === need && place.slots > 0);
  const isKnown = ({ engine, need }: Candidate) =>
    engine === localEngine.name || places.some((place) => place.need === need);
  const live = candidates.filter(isLive);
  const own = live.find(({ engine }) => engine !== "cloud");
  const ofProviders = live.filter(({ engine }) => engine === "cloud");
  return preferred(choice, own, ofProviders) ?? candidates.find(isKnown);
}

function preferred(
  { places, policy, config }: Choice,
  own: Candidate | undefined,
  ofProviders: readonly Candidate[],
): Candidate | undefined {
  const placeOf = ({ need }: Candidate) =>
    chooseQueue(
      places.filter((place) => place.need === need && place.slots > 0),
      config,
    );
  switch (policy) {
    case "own_only":
      return own;
    case "own_first": {
      const place = own && placeOf(own);
      const isSoon = place !== undefined && waitOf(place) <= config.cloud.overflowAfterS;
      return isSoon ? own : (ofProviders[0] ?? own);
    }
    case "cheapest":
      return own ?? ofProviders.toSorted((a, b) => priceOr(a) - priceOr(b))[0];
    case "fastest": {
      const doneAt = (candidate: Candidate) => {
        const place = placeOf(candidate);
        return place ? doneIn(place, config) : Infinity;
      };
      return [...(own ? [own] : []), ...ofProviders].toSorted((a, b) => doneAt(a) - doneAt(b))[0];
    }
  }
}

/** An unknown price comes last. */
const priceOr = (candidate: Candidate) => priceOf(candidate) ?? Infinity;

const waitOf = ({ workMs, slots }: Place) => workMs / Math.max(1, slots) / 1_000;

/** Seconds until a new job would be done. The CPU factor makes a card with one waiting job better than an idle CPU server. */
function doneIn(place: Place, config: Config): number {
  const isSlow = place.queue !== cloudQueue && !isGpuQueue(config, place.queue);
  const factor = isSlow ? config.timing.cpuRunFactor : 1;
  return waitOf(place) + (place.runMs * factor) / 1_000;
}

/** The place where the job is done first, on a tie the more demanding queue; full lines only when no line has room. */
export function chooseQueue(live: readonly Place[], config: Config): Place | undefined {
  const { limits, queues } = config;
  const rank = Object.keys(queues);
  const sorted = live.toSorted(
    (a, b) => doneIn(a, config) - doneIn(b, config) || rank.indexOf(a.queue) - rank.indexOf(b.queue),
  );
  return sorted.find((place) => place.waiting < limits.maxWaiting) ?? sorted[0];
}

interface Weighing extends Choice {
  readonly chosen: Placement["chosen"];
}

/** All places of the candidates with their waits and prices, and why each was not chosen. */
export function weigh(weighing: Weighing): WeighedPlace[] {
  const { candidates, places, chosen } = weighing;
  const taken = places.find(({ need, queue }) => need === chosen.need && queue === chosen.queue);
  return candidates.flatMap((candidate): WeighedPlace[] => {
    const { need } = candidate;
    const price = candidate.model ? { priceUsd: priceOf(candidate) } : {};
    const own = places.filter((place) => place.need === need);
    if (own.length === 0) {
      const isChosen = need === chosen.need;
      return [
        {
          queue: isChosen ? chosen.queue : null,
          need,
          waitS: null,
          refused: isChosen ? null : "never_seen",
          ...price,
        },
      ];
    }
    return own.map((place) => ({
      queue: place.queue,
      need,
      waitS: place.slots > 0 ? Math.round(waitOf(place)) : null,
      refused: refusalOf(place, { ...weighing, taken }),
      ...price,
    }));
  });
}

type Taking = Pick<Weighing, "chosen" | "config" | "policy"> & { readonly taken: Place | undefined };

function refusalOf(place: Place, taking: Taking): WeighedPlace["refused"] {
  const { chosen, taken, config } = taking;
  if (place.need === chosen.need && place.queue === chosen.queue) return null;
  if (place.slots === 0) return "no_server";
  const ofPolicy = refusalByPolicy(place, taking);
  if (ofPolicy !== null) return ofPolicy;
  if (place.need !== chosen.need) return "less_suited";
  if (place.waiting >= config.limits.maxWaiting) return "full";
  return taken && waitOf(place) < waitOf(taken) ? "slower" : "busier";
}

/** Between own machines and providers, and among providers, the policy decides. */
function refusalByPolicy(place: Place, { chosen, policy }: Taking): WeighedPlace["refused"] {
  const [isCloud, isChosenCloud] = [place.queue === cloudQueue, chosen.queue === cloudQueue];
  if (isCloud && isChosenCloud) return policy === "cheapest" ? "dearer" : null;
  if (isCloud === isChosenCloud) return null;
  if (isChosenCloud || policy === "fastest") return "busier";
  return policy === "cheapest" ? "dearer" : "own_first";
}
