import { sql } from "drizzle-orm";
import { type Db, schema } from "../db/index.ts";
import type { JobKind } from "../engines.ts";
import type { Config } from "../platform/index.ts";
import type { Attempt } from "./attempts.ts";
import { readChains } from "./chain.ts";
import { cooldownLeftMs, type KeyLimits, limitsOf, readLoads } from "./load.ts";
import { modelsOf } from "./models.ts";
import { type CloudModel, type ProviderName, providerNames } from "./port.ts";
import { type Spend, spentOf } from "./spend.ts";

interface Reading {
  readonly db: Db;
  readonly config: Config;
}

/** A model that can be used now, as the pages offer it. */
export interface OfferedModel {
  readonly id: string;
  readonly title: string;
  readonly kind: JobKind;
  readonly inputs: CloudModel["inputs"];
  readonly params: CloudModel["params"];
  /** The first one of its chain with a key. */
  readonly provider: ProviderName;
  /** US dollars; null when no source states it. */
  readonly priceUsd: number | null;
  readonly isNonCommercial: boolean;
}

/** The models of which a live node holds a key; `held` names the providers of those keys. */
export async function readOfferedModels(
  { db, config }: Reading,
  held: ReadonlySet<string>,
): Promise<OfferedModel[]> {
  const chainOf = await readChains(db);
  return modelsOf(config).flatMap((model): OfferedModel[] => {
    const offer = chainOf(model).find(({ provider }) => held.has(provider));
    if (!offer) return [];
    const { id, title, kind, params, inputs, isNonCommercial = false } = model;
    const { provider, priceUsd } = offer;
    return [{ id, title, kind, inputs, params, provider, priceUsd, isNonCommercial }];
  });
}

/** The state of a provider over all of its keys. */
export interface ProviderReport extends Spend {
  readonly provider: ProviderName;
  readonly isEnabled: boolean;
  /** A live node holds a key. */
  readonly hasKey: boolean;
  /** Of each key. */
  readonly limits: KeyLimits;
  /** Keys that were used this month, at least 1. */
  readonly keys: number;
  readonly active: number;
  readonly inLastMinute: number;
  readonly cooldownLeftMs: number;
  readonly streak: number;
  readonly lastErrorClass: string | null;
}

interface ProviderRow extends Record<string, unknown> {
  readonly provider: ProviderName;
  readonly keyIds: readonly string[];
  readonly dayUsd: number;
  readonly monthUsd: number;
  readonly isEnabled: boolean;
}

/** All providers with their live state and spend; for admins. */
export async function readProviders(
  { db, config }: Reading,
  held: ReadonlySet<string>,
): Promise<ProviderReport[]> {
  const { providerAttempts, providerSettings } = schema;
  const names = sql.join(
    providerNames.map((name) => sql`${name}`),
    sql`, `,
  );
  const rows = await db.execute<ProviderRow>(sql`
    select p.provider, coalesce(array_agg(distinct ${providerAttempts.keyId}) filter (where ${providerAttempts.keyId} is not null), '{}') as "keyIds",
      coalesce(sum(${spentOf(config)}) filter (where ${providerAttempts.createdAt} >= date_trunc('day', now() at time zone 'utc') at time zone 'utc'), 0)::float8 as "dayUsd",
      coalesce(sum(${spentOf(config)}), 0)::float8 as "monthUsd",
      coalesce((select is_enabled from ${providerSettings} s where s.provider = p.provider), true) as "isEnabled"
    from unnest(array[${names}]::text[]) p(provider)
    left join ${providerAttempts} on ${providerAttempts.provider} = p.provider
      and ${providerAttempts.createdAt} >= date_trunc('month', now() at time zone 'utc') at time zone 'utc'
    group by p.provider`);
  return Promise.all(
    rows.map(async ({ keyIds, ...row }) => {
      const loads = [...(await readLoads(db, { provider: row.provider, keyIds }, config)).values()];
      const sum = (of: (load: (typeof loads)[number]) => number) =>
        loads.reduce((total, load) => total + of(load), 0);
      const most = (of: (load: (typeof loads)[number]) => number) => Math.max(0, ...loads.map(of));
      return {
        ...row,
        hasKey: held.has(row.provider),
        limits: limitsOf(config, row.provider),
        keys: Math.max(1, keyIds.length),
        active: sum(({ active }) => active),
        inLastMinute: sum(({ inLastMinute }) => inLastMinute),
        cooldownLeftMs: most((load) => cooldownLeftMs(load, config.cloud.cooldownS)),
        streak: most(({ streak }) => streak),
        lastErrorClass: loads.find(({ streak }) => streak > 0)?.lastErrorClass ?? null,
      };
    }),
  );
}

/** What one user spent at one provider on one day (UTC). */
export interface SpendLine {
  readonly day: string;
  /** Null when the account is gone. */
  readonly userId: string | null;
  readonly userName: string | null;
  readonly provider: string;
  readonly requests: number;
  readonly usd: number;
}

const shownLines = 200;

/** The spend of the last 31 days by day, user and provider, newest first; for admins. */
export async function readSpendLines({ db, config }: Reading): Promise<SpendLine[]> {
  const { providerAttempts, users } = schema;
  const rows = await db.execute<SpendLine & Record<string, unknown>>(sql`
    select to_char(${providerAttempts.createdAt} at time zone 'utc', 'YYYY-MM-DD') as day, ${providerAttempts.ownerId} as "userId",
      (select name from ${users} u where u.id = ${providerAttempts.ownerId}) as "userName",
      ${providerAttempts.provider} as provider, count(*)::int as requests, sum(${spentOf(config)})::float8 as usd
    from ${providerAttempts} where ${providerAttempts.createdAt} > now() - interval '31 days'
    group by 1, 2, 3, 4 order by 1 desc, 6 desc limit ${shownLines}`);
  return rows;
}

/** The chain of a model as it is tried now. */
export interface ChainView {
  readonly model: string;
  readonly title: string;
  readonly kind: JobKind;
  readonly providers: readonly ProviderName[];
}

/** The chains of the models that more than one provider offers; for admins. */
export async function readChainViews({ db, config }: Reading): Promise<ChainView[]> {
  const chainOf = await readChains(db);
  return modelsOf(config)
    .filter(({ offers }) => offers.length > 1)
    .map((model) => ({
      model: model.id,
      title: model.title,
      kind: model.kind,
      providers: chainOf(model).map(({ provider }) => provider),
    }));
}

/** One request to a provider, as a job's page tells it. */
export interface AttemptView {
  readonly provider: string;
  readonly model: string;
  readonly state: string;
  readonly errorClass: string | null;
  readonly priceUsd: number | null;
  readonly costUsd: number | null;
  readonly createdAt: string;
  readonly endedAt: string | null;
}

export function toAttemptView(attempt: Attempt): AttemptView {
  const { provider, model, state, errorClass, priceUsd, costUsd, createdAt, endedAt } = attempt;
  const times = { createdAt: createdAt.toISOString(), endedAt: endedAt?.toISOString() ?? null };
  return { provider, model, state, errorClass, priceUsd, costUsd, ...times };
}
