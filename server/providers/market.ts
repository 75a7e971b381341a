import { sql } from "drizzle-orm";
import { type Agreed, type Db, schema, type Tx } from "../db/index.ts";
import { AppError, type Config } from "../platform/index.ts";
import { countedPriceUsd, mayBuy } from "./agreed.ts";
import { type ChainChanges, chainColumns, chainOf } from "./chain.ts";
import { checkPurse, type Purse, purseColumns } from "./key-caps.ts";
import { judgeKey, type KeyLoadRow, limitsOf, loadsOf, rowsOfKeys } from "./load.ts";
import { type CloudModel, type ModelOffer, type ProviderName, titleOfProvider } from "./port.ts";
import type { HeldKeys } from "./report.ts";

/** Why nothing can be bought of a model now. */
export interface Hindrance {
  readonly why: "cap" | "price_unknown" | "too_dear" | "cooling" | "busy" | "off";
  readonly error: AppError;
}

/** A model as it can be bought now: the offer that would be called first, and what is in the way. */
export interface Ware {
  readonly model: CloudModel;
  /** Null when no provider of the model is switched on and has a key. */
  readonly offer: ModelOffer | null;
  readonly hindrance: Hindrance | null;
}

export interface Shopping {
  readonly ownerId: string;
  /** The API key whose cap holds, too; none for a session. */
  readonly apiKeyId?: string | null | undefined;
  readonly models: readonly CloudModel[];
  /** What live nodes hold. */
  readonly held: HeldKeys;
  readonly agreed: Agreed | null;
}

interface MarketFacts extends ChainChanges, Purse {
  readonly loads: readonly KeyLoadRow[];
}

/** Longer than any pause of a provider; a key without a call since then is rested. For providers whose workers name no keys. */
const lately = sql`interval '2 hours'`;

/** What each of these models would cost the owner now, and what is in the way. One statement. */
export async function readMarket(db: Db | Tx, config: Config, shopping: Shopping): Promise<Ware[]> {
  const { providerAttempts } = schema;
  const named = [...new Set(shopping.held.keys.map(({ provider }) => provider))];
  const keys = sql`${rowsOfKeys(shopping.held.keys)} union select provider, key_id from ${providerAttempts}
    where (created_at > statement_timestamp() - ${lately} or state in ('submitting', 'unknown', 'accepted'))
      and provider not in (select jsonb_array_elements_text(${JSON.stringify(named)}::jsonb))`;
  const buyer = { ownerId: shopping.ownerId, apiKeyId: sql`${shopping.apiKeyId ?? null}::text` };
  const [facts] = await db.execute<MarketFacts & Record<string, unknown>>(sql`
    select ${chainColumns()}, ${purseColumns(config, buyer)},
      (select coalesce(json_agg(l), '[]') from (${loadsOf(keys, config)}) l) as loads`);
  if (!facts) throw new Error("the read of the market gave no row");
  return shopping.models.map((model) => wareOf(config, { ...shopping, facts }, model));
}

type Market = Shopping & { readonly facts: MarketFacts };

function wareOf(config: Config, market: Market, model: CloudModel): Ware {
  const offers = chainOf(market.facts, model).filter(({ provider }) => market.held.providers.has(provider));
  const wares = offers.map((offer) => ({ model, offer, hindrance: hindranceOf(config, market, offer) }));
  const [first] = wares;
  if (!first) return { model, offer: null, hindrance: { why: "off", error: offError(model) } };
  return wares.find(({ hindrance }) => hindrance === null) ?? first;
}

function offError({ title }: CloudModel): AppError {
  return new AppError("no_engine", `No provider of ${title} that can do this is switched on and has a key.`);
}

function hindranceOf(config: Config, { facts, agreed }: Market, offer: ModelOffer): Hindrance | null {
  const { priceUsd, provider } = offer;
  if (!mayBuy(agreed, priceUsd)) return priceUsd === null ? unknownPrice(provider) : tooDear(provider);
  try {
    checkPurse(config, facts, countedPriceUsd(config, agreed, priceUsd));
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    return { why: "cap", error };
  }
  return stateOf(config, facts.loads, provider);
}

function unknownPrice(provider: ProviderName): Hindrance {
  const text = `What ${titleOfProvider(provider)} asks for this is not known. Say what it may cost at most, or ask an admin to set its price.`;
  return { why: "price_unknown", error: new AppError("not_agreed", text) };
}

function tooDear(provider: ProviderName): Hindrance {
  const text = `${titleOfProvider(provider)} asks for more than was agreed.`;
  return { why: "too_dear", error: new AppError("not_agreed", text) };
}

/** A provider whose keys are all at a limit or cool down; a key that no live node holds counts no more. */
function stateOf(config: Config, loads: readonly KeyLoadRow[], provider: ProviderName): Hindrance | null {
  const own = loads.filter((load) => load.provider === provider);
  const states = own.map((load) => judgeKey(load, limitsOf(config, provider), config.cloud));
  if (states.length === 0 || states.some(({ isFree }) => isFree)) return null;
  const isCooling = states.every((state) => !state.isFree && state.why === "cooldown");
  const text = isCooling ? "failed lately and is left alone for a while" : "has as many runs as it takes";
  const error = new AppError("providers_failed", `${titleOfProvider(provider)} ${text}.`);
  return { why: isCooling ? "cooling" : "busy", error };
}
