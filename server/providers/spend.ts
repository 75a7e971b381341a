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
const monthStart = sql`date_trunc('month', now() at time zone 'utc') at time zone 'utc'`;

/** The spend of one user, or of the studio (null). */
export async function readSpend(
  db: Db | Tx,
  config: Pick<Config, "cloud">,
  ownerId: string | null,
): Promise<Spend> {
  const { providerAttempts } = schema;
  const spent = spentOf(config);
  const own = ownerId === null ? sql`true` : sql`${providerAttempts.ownerId} = ${ownerId}`;
  const [row] = await db.execute<{ dayUsd: number; monthUsd: number }>(sql`
    select coalesce(sum(${spent}) filter (where ${providerAttempts.createdAt} >= ${dayStart}), 0)::float8 as "dayUsd",
      coalesce(sum(${spent}), 0)::float8 as "monthUsd"
    from ${providerAttempts} where ${own} and ${providerAttempts.createdAt} >= ${monthStart}`);
  return row ?? { dayUsd: 0, monthUsd: 0 };
}

/** The caps that an admin gave a user; null where the studio's count. */
export async function readOwnCaps(db: Db | Tx, userId: string): Promise<Caps> {
  const { spendingCaps } = schema;
  const [row] = await db.execute<{ dailyUsd: number | null; monthlyUsd: number | null }>(sql`
    select ${spendingCaps.dailyUsd} as "dailyUsd", ${spendingCaps.monthlyUsd} as "monthlyUsd"
    from ${spendingCaps} where ${spendingCaps.userId} = ${userId}`);
  return row ?? { dailyUsd: null, monthlyUsd: null };
}

/** The caps of a user: the own ones where an admin set them, else those of the configuration. */
export async function readCaps(db: Db | Tx, { cloud }: Pick<Config, "cloud">, userId: string): Promise<Caps> {
  const own = await readOwnCaps(db, userId);
  return {
    dailyUsd: own.dailyUsd ?? cloud.caps.userDailyUsd,
    monthlyUsd: own.monthlyUsd ?? cloud.caps.userMonthlyUsd,
  };
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

/**
 * Refuses a purchase that would exceed a cap of the user or the studio. Throws `budget_exceeded` with the sentence that
 * names the cap. With `lockSpend` before it in the same transaction, no two callers exceed a cap together.
 */
export async function checkCaps(
  db: Db | Tx,
  config: Pick<Config, "cloud">,
  { ownerId, priceUsd }: Purchase,
): Promise<void> {
  const { caps, assumedPriceUsd } = config.cloud;
  const price = priceUsd ?? assumedPriceUsd;
  const own = await readCaps(db, config, ownerId);
  const studio = { dailyUsd: caps.studioDailyUsd, monthlyUsd: caps.studioMonthlyUsd };
  const message =
    refusalOf(own, await readSpend(db, config, ownerId), { price, whose: "Your" }) ??
    refusalOf(studio, await readSpend(db, config, null), { price, whose: "The studio's" });
  if (message !== null) throw new AppError("budget_exceeded", message);
}

/** Waits for all other purchases that are being checked, until the end of the transaction. */
export async function lockSpend(tx: Tx): Promise<void> {
  // A statement of its own: the sums that follow must see what the last holder committed.
  await tx.execute(sql`select pg_advisory_xact_lock(hashtext('spend'), 0)`);
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
