import { sql, type SQL } from "drizzle-orm";
import { type Db, schema, type Tx } from "../db/index.ts";
import type { CloudModel, ModelOffer, ProviderName } from "./port.ts";

/** What the admin changed about the chains. */
export interface ChainChanges {
  /** Providers that are switched off. */
  readonly disabled: readonly string[];
  /** By model. */
  readonly orders: Readonly<Record<string, readonly string[]>>;
}

/** SQL columns of a `ChainChanges`. */
export function chainColumns(): SQL {
  const { providerSettings, modelChains } = schema;
  return sql`(select coalesce(array_agg(provider), '{}') from ${providerSettings} where not is_enabled) as disabled,
    (select coalesce(json_object_agg(model, providers), '{}') from ${modelChains}) as orders`;
}

/**
 * The offers of a model in the order in which they are tried: the admin's, else that of the model list. Providers that the
 * admin switched off are left out; those that the admin's order does not name come last.
 */
export function chainOf({ disabled, orders }: ChainChanges, model: CloudModel): readonly ModelOffer[] {
  const order = orders[model.id] ?? [];
  const rank = ({ provider }: ModelOffer) => {
    const at = order.indexOf(provider);
    return at < 0 ? order.length : at;
  };
  return model.offers
    .filter(({ provider }) => !disabled.includes(provider))
    .toSorted((a, b) => rank(a) - rank(b));
}

/** Reads the chains of all models. */
export async function readChains(db: Db | Tx): Promise<(model: CloudModel) => readonly ModelOffer[]> {
  const [row] = await db.execute<ChainChanges & Record<string, unknown>>(sql`select ${chainColumns()}`);
  return (model) => chainOf(row ?? { disabled: [], orders: {} }, model);
}

/** The chain of one model. */
export async function readChain(db: Db | Tx, model: CloudModel): Promise<readonly ModelOffer[]> {
  return (await readChains(db))(model);
}

/** Switches a provider on or off for all models; runs that it has already go on. */
export async function enableProvider(db: Db, provider: ProviderName, isEnabled: boolean): Promise<void> {
  const values = { provider, isEnabled, updatedAt: sql`now()` };
  await db
    .insert(schema.providerSettings)
    .values(values)
    .onConflictDoUpdate({ target: schema.providerSettings.provider, set: values });
}

/** Stores the order in which the providers of a model are tried. */
export async function orderChain(db: Db, model: string, providers: readonly ProviderName[]): Promise<void> {
  const values = { model, providers: [...providers], updatedAt: sql`now()` };
  await db
    .insert(schema.modelChains)
    .values(values)
    .onConflictDoUpdate({ target: schema.modelChains.model, set: values });
}
