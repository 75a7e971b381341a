import { sql, type SQL } from "drizzle-orm";
import { type CapPeriod, type Db, schema, type Tx } from "../db/index.ts";
import { AppError, type Config } from "../platform/index.ts";
import {
  type Budget,
  budgetColumns,
  checkBudget,
  dayStart,
  dollars,
  isWithinUsd,
  modelSpend,
  spentOf,
  startOf,
  summedUntil,
} from "./spend.ts";

/** The cap of an API key, US dollars, and the period after which it counts from 0 again. */
export interface KeyCap {
  readonly usd: number;
  readonly period: CapPeriod;
}

/** What an API key spent in the running period of its cap; of one without a cap ever since. US dollars. */
interface KeySpend {
  /** Charged, or to be charged for what has succeeded. */
  readonly spentUsd: number;
  /** Held for requests under way: charged or free again when they end. */
  readonly reservedUsd: number;
  /** When it counts from 0 again, ISO 8601; null: never. */
  readonly resetsAt: string | null;
}

export interface KeyBudget extends KeySpend {
  readonly cap: KeyCap | null;
}

/** Who buys: the caps of the owner and of the studio hold, and of the API key where one sent the request. */
export interface Buyer {
  readonly ownerId: string;
  /** SQL expression for the id of the API key, if any; it may be null. */
  readonly apiKeyId?: SQL;
}

/** What a purchase is checked against, of one moment. */
export interface Purse extends Budget {
  /** Null: no API key, or one without a cap. */
  readonly keyBudget: KeyBudget | null;
}

/** SQL columns of a `Purse`. */
export function purseColumns(config: Pick<Config, "cloud">, { ownerId, apiKeyId = sql`null` }: Buyer): SQL {
  return sql`${budgetColumns(config, ownerId)},
    (select ${budgetOfKey(config)} from ${schema.keyCaps} c where c.key_id = ${apiKeyId}) as "keyBudget"`;
}

/** SQL expression: the `KeyBudget` of row `c` with key_id, usd and period. */
function budgetOfKey(config: Pick<Config, "cloud">): SQL {
  const { dailySpend, modelCalls, providerAttempts } = schema;
  const from = sql`case c.period when 'day' then ${dayStart} when 'week' then ${startOf("week")}
    when 'month' then ${startOf("month")} else '-infinity' end`;
  const next = sql`case c.period when 'day' then ${startOf("day", 1)} when 'week' then ${startOf("week", 1)}
    when 'month' then ${startOf("month", 1)} end`;
  const isUnsummed = (at: SQL) => sql`${at} >= greatest(${from}, ${summedUntil})`;
  const isOpen = sql`cost_usd is null and ended_at is null`;
  return sql`(select json_build_object('spentUsd', coalesce(sum(s.usd) filter (where not s.held), 0),
      'reservedUsd', coalesce(sum(s.usd) filter (where s.held), 0),
      'resetsAt', to_char((${next}) at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS"Z"'),
      'cap', case when c.usd is not null then json_build_object('usd', c.usd, 'period', c.period) end)
    from (
      select usd, false as held from ${dailySpend} where api_key_id = c.key_id
        and day >= ((${from}) at time zone 'utc')::date
      union all
      select ${spentOf(config)}, ${isOpen} from ${providerAttempts}
        where api_key_id = c.key_id and ${isUnsummed(sql`created_at`)}
      union all
      select ${modelSpend}, ${isOpen} from ${modelCalls}
        where api_key_id = c.key_id and ${isUnsummed(sql`started_at`)}
    ) s)`;
}

/**
 * Refuses a purchase that would exceed a cap of the user, the studio or the API key; what is free always passes a key's. Throws
 * `budget_exceeded` with the sentence that names the cap.
 */
export function checkPurse(config: Pick<Config, "cloud">, purse: Purse, priceUsd: number | null): void {
  checkBudget(config, purse, priceUsd);
  const { keyBudget } = purse;
  const countedUsd = priceUsd ?? config.cloud.assumedPriceUsd;
  if (!keyBudget?.cap || priceUsd === 0) return;
  const { cap, spentUsd, reservedUsd } = keyBudget;
  const usedUsd = spentUsd + reservedUsd;
  if (isWithinUsd(usedUsd + countedUsd, cap.usd)) return;
  const price = priceUsd === null ? "its price is not known" : `it costs ${dollars(countedUsd)}`;
  const message = `This API key may spend ${dollars(cap.usd)}${periodTexts[cap.period]}: ${dollars(usedUsd)} are spent or reserved, and ${price}.`;
  throw new AppError("budget_exceeded", message);
}

const periodTexts = {
  day: " a day",
  week: " a week",
  month: " a month",
  never: " in all",
} as const satisfies Record<CapPeriod, string>;

/** `checkPurse` with the purse of this moment; under `lockSpend` no other purchase comes between. */
export async function checkCaps(
  db: Db | Tx,
  config: Pick<Config, "cloud">,
  { priceUsd, ...buyer }: Buyer & { readonly priceUsd: number | null },
): Promise<void> {
  const [purse] = await db.execute<Purse & Record<string, unknown>>(
    sql`select ${purseColumns(config, buyer)}`,
  );
  if (purse) checkPurse(config, purse, priceUsd);
}

/** The budgets of API keys by id: of those without a cap what they spent. */
export async function readKeyBudgets(
  { db, config }: { readonly db: Db | Tx; readonly config: Pick<Config, "cloud"> },
  keyIds: readonly string[],
): Promise<ReadonlyMap<string, KeyBudget>> {
  if (keyIds.length === 0) return new Map();
  const { apiKeys, keyCaps } = schema;
  const rows = await db.execute<{ id: string; budget: KeyBudget }>(sql`
    select c.key_id as id, ${budgetOfKey(config)} as budget from (
      select k.id as key_id, held.usd, held.period from ${apiKeys} k left join ${keyCaps} held on held.key_id = k.id
      where k.id in ${[...keyIds]}) c`);
  return new Map(rows.map(({ id, budget }) => [id, budget]));
}
