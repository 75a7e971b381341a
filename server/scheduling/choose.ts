import type { CloudPolicy, PlacedBecause, WeighedPlace } from "../db/index.ts";
import type { Config } from "../platform/index.ts";
import type { Ware } from "../providers/index.ts";
import type { Candidate } from "./candidates.ts";
import { isReadyOption, type Option } from "./options.ts";

/** What decides between the own machines and the providers. */
interface Facts {
  readonly policy: CloudPolicy;
  /** The best own option, live where one is. */
  readonly home: Option | undefined;
  /** The live options of providers, in the order of the list. */
  readonly shops: readonly Option[];
  readonly overflowAfterMs: number;
  /** The job has waited in the own line for so long. */
  readonly hasWaited: boolean;
}

export interface Verdict {
  readonly takes: "home" | "shop";
  readonly because: PlacedBecause;
}

const atHome = (because: PlacedBecause): Verdict => ({ takes: "home", because });
const atShop = (because: PlacedBecause): Verdict => ({ takes: "shop", because });

/**
 * Own machines or a provider: the one decision about money. A guess never buys: an own place is left only when the low end
 * of its wait, which counts nothing but past runs, is too long, or when it has been away for that long.
 */
export function choosePlace(facts: Facts): Verdict {
  const { policy, home, shops, overflowAfterMs, hasWaited } = facts;
  if (home === undefined) return atShop("no_own");
  // What the operator says of a start counts as past runs do.
  const isReady = isReadyOption(home);
  if (policy === "own_only" || shops.length === 0) return atHome(isReady ? "own" : "own_away");
  if (!isReady) {
    // A restart takes seconds; only the policy that asks for speed does not wait for it.
    const isGone = policy === "fastest" || hasWaited || home.awayMs > overflowAfterMs;
    return isGone ? atShop("away") : atHome("own_away");
  }
  return policy === "cheapest" ? atHome("own") : judgeLine(facts, home);
}

/** Whether the line of a live own place is worth leaving. */
function judgeLine({ policy, shops, overflowAfterMs, hasWaited }: Facts, home: Option): Verdict {
  if (hasWaited) return atShop("waited");
  const { waitMs, sureMs, quality } = home.wait;
  if (sureMs > overflowAfterMs) return atShop("overflow");
  if (policy === "fastest" && shops.some((shop) => isSurelySooner(shop, home))) return atShop("faster");
  return atHome(quality === "assumed" && waitMs[1] > overflowAfterMs ? "own_unmeasured" : "own");
}

/** All times are measured, and the provider's longest is shorter than the own machine's shortest. */
function isSurelySooner({ wait: shop }: Option, { wait: home }: Option): boolean {
  const isMeasured = shop.quality === "measured" && shop.cost.isMeasured && home.cost.isMeasured;
  return isMeasured && shop.waitMs[1] + shop.cost.meanMs < home.sureMs + home.cost.meanMs;
}

interface Weighing {
  readonly config: Config;
  readonly policy: CloudPolicy;
  readonly candidates: readonly Candidate[];
  readonly options: readonly Option[];
  readonly chosen: Option;
  readonly because: PlacedBecause;
  readonly wares: readonly Ware[];
}

/** All options with their waits and prices, and why each was not chosen. */
export function weigh(weighing: Weighing): WeighedPlace[] {
  const { candidates, options, chosen } = weighing;
  return candidates.flatMap((candidate): WeighedPlace[] => {
    const { need, model } = candidate;
    const ware = weighing.wares.find((one) => one.model === model);
    const price = model ? { priceUsd: (ware?.offer ?? model.offers[0])?.priceUsd ?? null } : {};
    const own = options.filter((option) => option.candidate === candidate);
    if (own.length === 0) return [{ queue: null, need, waitS: null, refused: "never_seen", ...price }];
    return own.map((option) => ({
      queue: option.queue,
      need,
      waitS: isReadyOption(option) ? Math.round(option.wait.meanMs / 1_000) : null,
      refused: option === chosen ? null : whyNot(option, weighing),
      ...price,
    }));
  });
}

function whyNot(option: Option, weighing: Weighing): WeighedPlace["refused"] {
  const { chosen, config } = weighing;
  if (!isReadyOption(option)) return option.awayMs === Infinity ? "never_seen" : "no_server";
  const ofMoney = refusalByMoney(option, weighing);
  if (ofMoney !== null) return ofMoney;
  if (option.candidate !== chosen.candidate) return "less_suited";
  if (option.waiting >= config.limits.maxWaiting) return "full";
  return option.wait.meanMs < chosen.wait.meanMs ? "slower" : "busier";
}

/** Between own machines and providers, and among providers, policy, caps and prices decide. */
function refusalByMoney(option: Option, weighing: Weighing): WeighedPlace["refused"] {
  const { chosen, policy, because, wares } = weighing;
  const isShop = option.candidate.engine === "cloud";
  const isChosenShop = chosen.candidate.engine === "cloud";
  if (!isShop) return isChosenShop ? "busier" : null;
  const hindrance = wares.find(({ model }) => model === option.candidate.model)?.hindrance;
  if (hindrance) return hindrance.why;
  if (isChosenShop) return policy === "cheapest" ? "dearer" : null;
  if (because === "own_unmeasured") return "unmeasured";
  return policy === "cheapest" ? "dearer" : policy === "fastest" ? "busier" : "own_first";
}
