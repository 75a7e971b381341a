import { sql } from "drizzle-orm";
import { type Db, schema, type Tx } from "../db/index.ts";
import type { CloudModel, ModelOffer, ProviderName } from "./port.ts";

interface ChainRow extends Record<string, unknown> {
  readonly disabled: readonly string[];
  /** By model. */
  readonly orders: Readonly<Record<string, readonly string[]>>;
}

/** The offers of a model in the order in which they are tried. */
export type ChainOf = (model: CloudModel) => readonly ModelOffer[];

/**
 * Reads the order in which the offers of each model are tried: the admin's, else that of the model list. Providers that
 * the admin switched off are left out; those that the admin's order does not name come last.
 */
export async function readChains(db: Db | Tx): Promise<ChainOf> {
  const { providerSettings, modelChains } = schema;
  const [row] = await db.execute<ChainRow>(sql`
    select (select coalesce(array_agg(provider), '{}') from ${providerSettings} where not is_enabled) as disabled,
      (select coalesce(json_object_agg(model, providers), '{}') from ${modelChains}) as orders`);
  return (model) => {
    const order = row?.orders[model.id] ?? [];
    const rank = ({ provider }: ModelOffer) => {
      const at = order.indexOf(provider);
      return at < 0 ? order.length : at;
    };
    return model.offers
      .filter(({ provider }) => !row?.disabled.includes(provider))
      .toSorted((a, b) => rank(a) - rank(b));
  };
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
