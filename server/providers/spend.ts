import { eq, sql, type SQL } from "drizzle-orm";
import { type Db, schema, type Tx } from "../db/index.ts";
import { AppError, type Config } from "../platform/index.ts";

/** Money spent or held since midnight and since the first of the month (UTC), US dollars. */
export interface Spend {
  readonly dayUsd: number;
  readonly monthUsd: number;
}

export interface Caps {
  readonly dailyUsd: number | null;
  readonly monthlyUsd: number | null;
}

/** SQL expression: what an attempt counts: its cost, else its price while it may be charged. */
export function spentOf({ cloud }: Pick<Config, "cloud">): SQL {
  const { state, costUsd, priceUsd, errorClass } = schema.providerAttempts;
  return sql`coalesce(${costUsd}, case when ${state} in ('submitting', 'unknown', 'accepted', 'succeeded') or ${errorClass} = 'lost'
    then coalesce(${priceUsd}, ${cloud.assumedPriceUsd}::float8) else 0 end)`;
}

const dayStart = sql`date_trunc('day', now() at time zone 'utc') at time zone 'utc'`;
/** SQL condition: the attempt is of this month. */
export const isOfThisMonth = sql`${schema.providerAttempts.createdAt} >= date_trunc('month', now() at time zone 'utc') at time zone 'utc'`;

/** SQL expression: the `Spend` of the rows of this month that match. */
export function sumOf(config: Pick<Config, "cloud">, own: SQL): SQL {
  const { createdAt } = schema.providerAttempts;
  const spent = spentOf(config);
  return sql`json_build_object('dayUsd', coalesce(sum(${spent}) filter (where ${own} and ${createdAt} >= ${dayStart}), 0),
    'monthUsd', coalesce(sum(${spent}) filter (where ${own}), 0))`;
}

/** The spend of one user, or of the studio (null). */
export async function readSpend(
  db: Db | Tx,
  config: Pick<Config, "cloud">,
  ownerId: string | null,
): Promise<Spend> {
  const { providerAttempts } = schema;
  const own = ownerId === null ? sql`true` : sql`${providerAttempts.ownerId} = ${ownerId}`;
  const [row] = await db.execute<{ spend: Spend }>(sql`
    select ${sumOf(config, own)} as spend from ${providerAttempts}
    where ${own} and ${isOfThisMonth}`);
  return row?.spend ?? { dayUsd: 0, monthUsd: 0 };
}

/** SQL query for the `Caps` that an admin gave a user; no row without any. */
function ownCapsOf(userId: string): SQL {
  const { spendingCaps } = schema;
  return sql`select ${spendingCaps.dailyUsd} as "dailyUsd", ${spendingCaps.monthlyUsd} as "monthlyUsd"
    from ${spendingCaps} where ${spendingCaps.userId} = ${userId}`;
}

const noCaps: Caps = { dailyUsd: null, monthlyUsd: null };

/** The caps that an admin gave a user; null where the studio's count. */
export async function readOwnCaps(db: Db | Tx, userId: string): Promise<Caps> {
  const [row] = await db.execute<Caps & Record<string, unknown>>(ownCapsOf(userId));
  return row ?? noCaps;
}

/** The caps of a user: the own ones where an admin set them, else those of the configuration. */
function capsOf({ cloud }: Pick<Config, "cloud">, own: Caps): Caps {
  return {
    dailyUsd: own.dailyUsd ?? cloud.caps.userDailyUsd,
    monthlyUsd: own.monthlyUsd ?? cloud.caps.userMonthlyUsd,
  };
}

/** The caps that hold for a user. */
export async function readCaps(db: Db | Tx, config: Pick<Config, "cloud">, userId: string): Promise<Caps> {
  return capsOf(config, await readOwnCaps(db, userId));
}

/** Gives a user caps of their own; null takes the studio's. Throws `not_found`. */
export async function setCaps(db: Db, userId: string, caps: Caps): Promise<void> {
  const [known] = await db
    .select({ id: schema.users.id })
    .from(schema.users)
    .where(eq(schema.users.id, userId));
  if (!known) throw new AppError("not_found");
  const values = { userId, ...caps };
  await db
    .insert(schema.spendingCaps)
    .values(values)
    .onConflictDoUpdate({ target: schema.spendingCaps.userId, set: caps });
}

export interface Purchase {
  readonly ownerId: string;
  /** Null when unknown: `assumedPriceUsd` counts. */
  readonly priceUsd: number | null;
}

/** What the caps of a user's purchase are checked against, of one moment. */
export interface Budget {
  /** The caps that an admin gave the user. */
  readonly ownCaps: Caps | null;
  readonly spend: { readonly own: Spend; readonly studio: Spend };
}

/** SQL columns of a `Budget`. The spend holds only the requests that a cap counts: the sum of a month takes its time. */
export function budgetColumns(config: Pick<Config, "cloud">, ownerId: string): SQL {
  const { providerAttempts } = schema;
  const isOwn = sql`${providerAttempts.ownerId} = ${ownerId}`;
  const sums = sql`'own', ${sumOf(config, isOwn)}, 'studio', ${sumOf(config, sql`true`)}`;
  return sql`(select row_to_json(c) from (${ownCapsOf(ownerId)}) c) as "ownCaps",
    (select json_build_object(${sums}) from ${providerAttempts}
      where ${isCounted(config, { ownerId, isOwn })} and ${isOfThisMonth}) as spend`;
}

/** SQL condition: a cap counts the attempt. */
function isCounted(
  { cloud: { caps } }: Pick<Config, "cloud">,
  { ownerId, isOwn }: { readonly ownerId: string; readonly isOwn: SQL },
): SQL {
  if (caps.studioDailyUsd !== null || caps.studioMonthlyUsd !== null) return sql`true`;
  if (caps.userDailyUsd !== null || caps.userMonthlyUsd !== null) return isOwn;
  return sql`${isOwn} and exists (${ownCapsOf(ownerId)})`;
}

/**
 * Refuses a purchase that would exceed a cap of the user or the studio. Throws `budget_exceeded` with the sentence that
 * names the cap.
 */
export function checkBudget(config: Pick<Config, "cloud">, budget: Budget, priceUsd: number | null): void {
  const { caps, assumedPriceUsd } = config.cloud;
  const price = priceUsd ?? assumedPriceUsd;
  const own = capsOf(config, budget.ownCaps ?? noCaps);
  const studio = { dailyUsd: caps.studioDailyUsd, monthlyUsd: caps.studioMonthlyUsd };
  const message =
    refusalOf(own, budget.spend.own, { price, whose: "Your" }) ??
    refusalOf(studio, budget.spend.studio, { price, whose: "The studio's" });
  if (message !== null) throw new AppError("budget_exceeded", message);
}

/** `checkBudget` with the budget of this moment, for an answer before anything is bought. */
export async function checkCaps(
  db: Db | Tx,
  config: Pick<Config, "cloud">,
  { ownerId, priceUsd }: Purchase,
): Promise<void> {
  const [budget] = await db.execute<Budget & Record<string, unknown>>(
    sql`select ${budgetColumns(config, ownerId)}`,
  );
  if (budget) checkBudget(config, budget, priceUsd);
}

function refusalOf(
  caps: Caps,
  spend: Spend,
  { price, whose }: { readonly price: number; readonly whose: string },
): string | null {
  // Sums of prices in binary fractions: a ten-thousandth of a cent is no excess.
  const exceeds = (spent: number, cap: number | null) => cap !== null && spent + price > cap + 1e-6;
  const text = (period: string, spent: number, cap: number | null) =>
    `${whose} ${period} limit of ${dollars(cap ?? 0)} for cloud models does not allow this: ${dollars(spent)} are spent, and it costs ${dollars(price)}.`;
  if (exceeds(spend.dayUsd, caps.dailyUsd)) return text("daily", spend.dayUsd, caps.dailyUsd);
  if (exceeds(spend.monthUsd, caps.monthlyUsd)) return text("monthly", spend.monthUsd, caps.monthlyUsd);
  return null;
}

function dollars(usd: number): string {
  return `$${usd.toFixed(usd < 1 && usd > 0 ? 3 : 2)}`;
}
