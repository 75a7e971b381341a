import { sql } from "drizzle-orm";
import { type Db, schema } from "../db/index.ts";
import type { JobKind } from "../engines.ts";
import type { Config } from "../platform/index.ts";
import { type Attempt, wordsOf } from "./attempts.ts";
import { readChains } from "./chain.ts";
import { cooldownLeftMs, type KeyLimits, type KeyLoadRow, limitsOf, loadsOf, rowsOfKeys } from "./load.ts";
import { placeholdersOf, type Setting } from "./mapping.ts";
import { modelsOf } from "./models.ts";
import { type CloudModel, type ProviderName, providerNames } from "./port.ts";
import { categoriesTaken, settingsTaken } from "./takes.ts";
import { isOfThisMonth, type Spend, spentOf, sumOfAttempts } from "./spend.ts";

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
  /** What the providers of it that have a key can be told. */
  readonly settings: ReadonlySet<Setting>;
  readonly categories: readonly string[];
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
    const offers = chainOf(model).filter(({ provider }) => held.has(provider));
    const [offer] = offers;
    if (!offer) return [];
    const { id, title, kind, isNonCommercial = false } = model;
    const sent = new Set(offers.flatMap(({ input }) => placeholdersOf(input)));
    const inputs = { ...model.inputs, optional: model.inputs.optional.filter((role) => sent.has(role)) };
    const { provider, priceUsd } = offer;
    const settings = settingsTaken(offers);
    const categories = [...new Set(offers.flatMap((one) => categoriesTaken(one)))];
    return [{ id, title, kind, inputs, settings, categories, provider, priceUsd, isNonCommercial }];
  });
}

/** The keys that live nodes hold. */
export interface HeldKeys {
  readonly providers: ReadonlySet<string>;
  readonly keys: readonly { readonly provider: ProviderName; readonly keyId: string }[];
}

/** The live state of one key. */
export interface KeyReport {
  /** Hash of the key. */
  readonly keyId: string;
  readonly active: number;
  readonly inLastMinute: number;
  readonly cooldownLeftMs: number;
  readonly streak: number;
  readonly lastErrorClass: string | null;
}

/** The state of a provider over all of its keys. */
export interface ProviderReport extends Spend {
  readonly provider: ProviderName;
  readonly isEnabled: boolean;
  /** A live node holds a key. */
  readonly hasKey: boolean;
  /** Of each key. */
  readonly limits: KeyLimits;
  /** Keys that live nodes hold, at least 1. */
  readonly keys: number;
  /** Each of them; a key that was replaced is none. Without any held one, those that were used this month. */
  readonly keyReports: readonly KeyReport[];
  readonly active: number;
  readonly inLastMinute: number;
  /** Until the first key may be used: 0 while one of them works. */
  readonly cooldownLeftMs: number;
  /** Of the key with the fewest. */
  readonly streak: number;
  readonly lastErrorClass: string | null;
}

interface ProviderRow extends Record<string, unknown> {
  readonly provider: ProviderName;
  /** Null without a request this month. */
  readonly spend: Spend | null;
  readonly isEnabled: boolean;
  readonly loads: readonly KeyLoadRow[];
}

/** All providers with their live state and spend; for admins. */
export async function readProviders({ db, config }: Reading, held: HeldKeys): Promise<ProviderReport[]> {
  const { providerAttempts, providerSettings } = schema;
  const names = sql.join(
    providerNames.map((name) => sql`${name}`),
    sql`, `,
  );
  const usedKeys = sql`select provider, key_id from held union
    select provider, key_id from ${providerAttempts} where ${isOfThisMonth} and provider not in (select provider from held)`;
  const rows = await db.execute<ProviderRow>(sql`
    with held as (${rowsOfKeys(held.keys)}), month as (
      select provider, ${sumOfAttempts(config)} as spend from ${providerAttempts} where ${isOfThisMonth} group by provider
    ), loads as (${loadsOf(usedKeys, config)})
    select p.provider, month.spend,
      coalesce((select is_enabled from ${providerSettings} s where s.provider = p.provider), true) as "isEnabled",
      (select coalesce(json_agg(l order by l."keyId"), '[]') from loads l where l.provider = p.provider) as loads
    from unnest(array[${names}]::text[]) p(provider) left join month using (provider)`);
  return rows.map(({ provider, spend, isEnabled, loads }) => {
    const keyReports = loads.map((load) => toKeyReport(load, config));
    const sum = (of: (key: KeyReport) => number) => keyReports.reduce((total, key) => total + of(key), 0);
    const [best] = keyReports.toSorted((a, b) => a.cooldownLeftMs - b.cooldownLeftMs || a.streak - b.streak);
    return {
      provider,
      ...(spend ?? { dayUsd: 0, monthUsd: 0 }),
      isEnabled,
      hasKey: held.providers.has(provider),
      limits: limitsOf(config, provider),
      keys: Math.max(1, keyReports.length),
      keyReports,
      active: sum(({ active }) => active),
      inLastMinute: sum(({ inLastMinute }) => inLastMinute),
      cooldownLeftMs: best?.cooldownLeftMs ?? 0,
      streak: best?.streak ?? 0,
      lastErrorClass: best?.lastErrorClass ?? null,
    };
  });
}

function toKeyReport(load: KeyLoadRow, { cloud }: Pick<Config, "cloud">): KeyReport {
  const { keyId, active, inLastMinute, streak, lastErrorClass } = load;
  return {
    keyId,
    active,
    inLastMinute,
    cooldownLeftMs: cooldownLeftMs(load, cloud.cooldownS),
    streak,
    lastErrorClass: streak > 0 ? lastErrorClass : null,
  };
}

/** A fault of the operator's own: a key, an account or an entry of the model list that a provider does not take. */
export interface SetupFault {
  readonly provider: ProviderName;
  readonly model: string;
  readonly errorClass: string;
  /** What the provider answered, for admins. */
  readonly reason: string;
}

/** The last faults of the operator's own of a day, each until the provider has made something of that model again. */
export async function readSetupFaults(db: Db): Promise<SetupFault[]> {
  const { providerAttempts } = schema;
  return db.execute<SetupFault & Record<string, unknown>>(sql`
    select provider, model, error_class as "errorClass", coalesce(error_message, '') as reason from (
      select distinct on (provider, model) provider, model, state, error_class, error_message from ${providerAttempts}
      where ended_at > now() - interval '1 day'
        and (state = 'succeeded' or error_class in ('auth', 'credit', 'model'))
      order by provider, model, ended_at desc) last
    where state <> 'succeeded' order by provider, model`);
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
  /** The provider's own sentence where the user can act on it. */
  readonly words: string | null;
  readonly priceUsd: number | null;
  readonly costUsd: number | null;
  readonly createdAt: string;
  readonly endedAt: string | null;
}

export function toAttemptView(attempt: Attempt): AttemptView {
  const { provider, model, state, errorClass, priceUsd, costUsd, createdAt, endedAt } = attempt;
  const times = { createdAt: createdAt.toISOString(), endedAt: endedAt?.toISOString() ?? null };
  return { provider, model, state, errorClass, words: wordsOf(attempt), priceUsd, costUsd, ...times };
}
