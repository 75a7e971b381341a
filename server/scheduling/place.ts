import type { Agreed, CloudPolicy, Db, PlacedBecause, Placement } from "../db/index.ts";
import type { JobKind } from "../engines.ts";
import { AppError, type Config } from "../platform/index.ts";
import { type Hindrance, readMarket, type Ware } from "../providers/index.ts";
import { type Candidate, lackReason, missingEngineReason } from "./candidates.ts";
import { choosePlace, type Verdict, weigh } from "./choose.ts";
import type { Wait } from "./waits.ts";
import { doneInMs, homeOf, isLiveOption, type Option, type OptionInput, readOptions } from "./options.ts";
import { liveKeys } from "./places.ts";
import { readServerLacks } from "./workflows.ts";

/** The chosen queue and candidate of a request, with its wait there. */
export interface Placed {
  readonly candidate: Candidate;
  readonly queue: string;
  readonly placement: Placement;
  readonly wait: Wait;
  /** A node of the last 24 hours could run it there. */
  readonly isSeen: boolean;
  /** What is in the way of buying; null where nothing is, or nothing was to be bought. */
  readonly hindrance: Hindrance | null;
}

export interface PlaceInput extends OptionInput {
  readonly kind: JobKind;
  /** The policy for this user and kind; asked for only where a provider could do the request. */
  readonly policy: () => Promise<CloudPolicy>;
  /** What the person agreed to; null: the settings and the caps alone decide. */
  readonly agreed: Agreed | null;
  /** The API key whose cap holds, too; none for a session. */
  readonly apiKeyId?: string | undefined;
  readonly hasWaited: boolean;
}

/** All options of a request at one moment, and the decision between them. */
interface Scene extends Omit<PlaceInput, "policy"> {
  readonly config: Config;
  readonly policy: CloudPolicy;
  readonly options: readonly Option[];
  readonly home: Option | undefined;
  readonly shops: readonly Option[];
  readonly verdict: Verdict;
}

/**
 * Places a request by the policy: own machines or a provider (`choosePlace`), and there the best live candidate in the queue
 * with room where it should be done first. Without a live one the best candidate of a node of the last 24 hours or of the
 * local engine, and the job waits there. What a cap, a price or the state of the providers does not allow waits at home
 * where it can. Throws `no_engine` when nothing was seen, and `budget_exceeded` where only a provider could run it.
 */
export async function place(db: Db, config: Config, input: PlaceInput): Promise<Placed> {
  const scene = await readScene(db, config, input);
  const { home, shops, verdict } = scene;
  if (verdict.takes === "home" && home)
    return placedAt(scene, home, { because: verdict.because, wares: [], hindrance: null });
  const wares = await readWares(db, scene);
  const bought = firstFree(scene, wares);
  if (bought) return placedAt(scene, bought, { because: verdict.because, wares, hindrance: null });
  const hindrance = wares.find((ware) => ware.hindrance !== null)?.hindrance ?? null;
  if (home && hindrance) return placedAt(scene, home, { because: hindrance.why, wares, hindrance });
  if (hindrance?.why === "cap") throw hindrance.error;
  const waiting = shops[0] ?? scene.options[0];
  if (!waiting) throw await noEngine(db, input.kind, scene.candidates);
  return placedAt(scene, waiting, { because: "no_own", wares, hindrance });
}

/** The error for a request that nothing can run: with what connected servers lack, or with what to connect. */
async function noEngine(db: Db, kind: JobKind, candidates: readonly Candidate[]): Promise<AppError> {
  const names = candidates.flatMap(({ workflow }) => (workflow ? [workflow.name] : []));
  const lacks = await readServerLacks(db, names);
  const reason = lacks.length > 0 ? lackReason(kind, lacks) : missingEngineReason(kind, candidates);
  return new AppError("no_engine", reason);
}

async function readScene(db: Db, config: Config, input: PlaceInput): Promise<Scene> {
  const all = await readOptions(db, config, input);
  const isShop = ({ candidate }: { readonly candidate: Candidate }) => candidate.engine === "cloud";
  const hasShops = all.some((option) => isShop(option) && isLiveOption(option));
  const policy = hasShops ? await input.policy() : "own_first";
  const isOwnOnly = policy === "own_only";
  const options = isOwnOnly ? all.filter((option) => !isShop(option)) : all;
  const candidates = isOwnOnly
    ? input.candidates.filter(({ engine }) => engine !== "cloud")
    : input.candidates;
  const home = homeOf(options, config);
  const shops = options.filter((option) => isShop(option) && isLiveOption(option));
  const overflowAfterMs = config.cloud.overflowAfterS * 1_000;
  const staysHome = home !== undefined && input.agreed?.ownOnly === true;
  const verdict = choosePlace({
    policy: staysHome ? "own_only" : policy,
    home,
    shops,
    overflowAfterMs,
    hasWaited: input.hasWaited,
  });
  return { ...input, candidates, config, policy, options, home, shops, verdict };
}

async function readWares(
  db: Db,
  { config, share, shops, agreed, apiKeyId }: Scene,
): Promise<readonly Ware[]> {
  const models = shops.flatMap(({ candidate: { model } }) => (model ? [model] : []));
  if (models.length === 0) return [];
  const held = await liveKeys(db);
  return readMarket(db, config, { ownerId: share.ownerId, apiKeyId, models, held, agreed });
}

/** The model that the policy prefers of those that can be bought now. */
function firstFree({ shops, policy, config }: Scene, wares: readonly Ware[]): Option | undefined {
  const wareOf = ({ candidate }: Option) => wares.find(({ model }) => model === candidate.model);
  const free = shops.filter((shop) => wareOf(shop)?.hindrance === null);
  const priceOf = (shop: Option) => wareOf(shop)?.offer?.priceUsd ?? Infinity;
  if (policy === "cheapest") return free.toSorted((a, b) => priceOf(a) - priceOf(b))[0];
  if (policy === "fastest") return free.toSorted((a, b) => doneInMs(a, config) - doneInMs(b, config))[0];
  return free[0];
}

interface Reasons {
  readonly because: PlacedBecause;
  readonly wares: readonly Ware[];
  readonly hindrance: Hindrance | null;
}

function placedAt(scene: Scene, chosen: Option, { because, wares, hindrance }: Reasons): Placed {
  const { candidate, queue, wait } = chosen;
  const placement: Placement = {
    chosen: { queue, need: candidate.need },
    isLive: isLiveOption(chosen),
    because,
    weighed: weigh({ ...scene, chosen, because, wares }),
  };
  return { candidate, queue, placement, wait, hindrance, isSeen: chosen.awayMs < Infinity };
}
