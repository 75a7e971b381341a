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

/** SQL expression: when the running day, week or month (UTC) began, or one that comes so many later. */
export function startOf(unit: "day" | "week" | "month", later = 0): SQL {
  const start = sql`date_trunc(${sql.raw(`'${unit}'`)}, now() at time zone 'utc')`;
  return sql`(${start} + ${sql.raw(`interval '${later} ${unit}'`)}) at time zone 'utc'`;
}

export const dayStart = startOf("day");
const monthStart = startOf("month");
/** SQL condition: the attempt is of this month. */
export const isOfThisMonth = sql`${schema.providerAttempts.createdAt} >= ${monthStart}`;

export const summedUntil = sql`coalesce((select ${schema.studio.spendSummedUntil} from ${schema.studio}), '-infinity')`;
/** SQL condition: the moment is of this month, and its spend is not in `daily_spend`. */
const isUnsummed = (at: SQL) => sql`${at} >= greatest(${monthStart}, ${summedUntil})`;

/**
 * SQL query for all that was spent this month: the days that are over as one sum for each user, then each request to a
 * provider and each call of the assistant's models.
 */
function spendings(config: Pick<Config, "cloud">): SQL {
  const { dailySpend, modelCalls, providerAttempts } = schema;
  return sql`
    select owner_id, day::timestamp at time zone 'utc' as at, usd from ${dailySpend}
      where day >= (${monthStart} at time zone 'utc')::date
    union all
    select owner_id, created_at, ${spentOf(config)} from ${providerAttempts} where ${isUnsummed(sql`created_at`)}
    union all
    select owner_id, started_at, ${modelSpend} from ${modelCalls} where ${isUnsummed(sql`started_at`)}`;
}

/** SQL expression: what a call of a model counts. */
export const modelSpend = sql`coalesce(cost_usd, expected_usd)`;

/** SQL expression: the `Spend` of the rows of this month that match. */
function sumOf(own: SQL, at: SQL = sql`at`, usd: SQL = sql`usd`): SQL {
  return sql`json_build_object('dayUsd', coalesce(sum(${usd}) filter (where ${own} and ${at} >= ${dayStart}), 0),
    'monthUsd', coalesce(sum(${usd}) filter (where ${own}), 0))`;
}

/** SQL expression: the `Spend` of attempts of this month. */
export function sumOfAttempts(config: Pick<Config, "cloud">): SQL {
  return sumOf(sql`true`, sql`${schema.providerAttempts.createdAt}`, spentOf(config));
}

/** The spend of one user, or of the studio (null). */
export async function readSpend(
  db: Db | Tx,
  config: Pick<Config, "cloud">,
  ownerId: string | null,
): Promise<Spend> {
  const own = ownerId === null ? sql`true` : sql`owner_id = ${ownerId}`;
  const [row] = await db.execute<{ spend: Spend }>(
    sql`select ${sumOf(own)} as spend from (${spendings(config)}) spendings`,
  );
  return row?.spend ?? { dayUsd: 0, monthUsd: 0 };
}

/**
 * SQL query for the `OwnCaps` of a user: those that an admin gave, or none at all for an account that came without an
 * invitation. No row where the studio's count.
 */
function ownCapsOf(userId: string): SQL {
  const { spendingCaps, users } = schema;
  return sql`select ${spendingCaps.dailyUsd} as "dailyUsd", ${spendingCaps.monthlyUsd} as "monthlyUsd", false as "isUninvited"
      from ${spendingCaps} where ${spendingCaps.userId} = ${userId}
    union all select 0, 0, true from ${users} u where u.id = ${userId} and u.self_made and u.role is distinct from 'admin'
      and not exists (select from ${spendingCaps} c where c.user_id = u.id)`;
}

/** The caps of one user. */
export interface OwnCaps extends Caps {
  /** An account without an invitation, to which no admin has given caps: it spends nothing. */
  readonly isUninvited: boolean;
}

const noCaps: OwnCaps = { dailyUsd: null, monthlyUsd: null, isUninvited: false };

/** The user's own caps; each is null where the studio's counts. */
export async function readOwnCaps(db: Db | Tx, userId: string): Promise<OwnCaps> {
  const [row] = await db.execute<OwnCaps & Record<string, unknown>>(ownCapsOf(userId));
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
export async function setCaps(db: Pick<Db, "select" | "insert">, userId: string, caps: Caps): Promise<void> {
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

/** What the caps of a user's purchase are checked against, of one moment. */
export interface Budget {
  /** The user's own caps; null where the studio's count. */
  readonly ownCaps: OwnCaps | null;
  readonly spend: { readonly own: Spend; readonly studio: Spend };
}

/** SQL columns of a `Budget`. The spend holds only the requests that a cap counts: the sum of a month takes its time. */
export function budgetColumns(config: Pick<Config, "cloud">, ownerId: string): SQL {
  const isOwn = sql`owner_id = ${ownerId}`;
  const sums = sql`'own', ${sumOf(isOwn)}, 'studio', ${sumOf(sql`true`)}`;
  return sql`(select row_to_json(c) from (${ownCapsOf(ownerId)}) c) as "ownCaps",
    (select json_build_object(${sums}) from (${spendings(config)}) spendings
      where ${isCounted(config, { ownerId, isOwn })}) as spend`;
}

/** SQL condition: a cap counts the spending. */
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
  const price = { countedUsd: priceUsd ?? assumedPriceUsd, isKnown: priceUsd !== null };
  const own = capsOf(config, budget.ownCaps ?? noCaps);
  const studio = { dailyUsd: caps.studioDailyUsd, monthlyUsd: caps.studioMonthlyUsd };
  const isPaid = price.countedUsd > 0;
  const message =
    (budget.ownCaps?.isUninvited && isPaid ? uninvitedText : null) ??
    excessText(own, budget.spend.own, { ...price, whose: "Your" }) ??
    excessText(studio, budget.spend.studio, { ...price, whose: "The studio's" });
  if (message !== null) throw new AppError("budget_exceeded", message);
}

const uninvitedText =
  "An account that was made without an invitation cannot use what costs money until an admin gives it a limit. Ask an admin of this studio.";

function excessText(
  caps: Caps,
  spend: Spend,
  {
    countedUsd,
    isKnown,
    whose,
  }: { readonly countedUsd: number; readonly isKnown: boolean; readonly whose: string },
): string | null {
  const exceeds = (spent: number, cap: number | null) =>
    cap !== null && !isWithinUsd(spent + countedUsd, cap);
  const text = (period: string, spent: number, cap: number | null) =>
    `${whose} ${period} limit of ${dollars(cap ?? 0)} for cloud models does not allow this: ${dollars(spent)} are spent, and ${isKnown ? `it costs ${dollars(countedUsd)}` : "its price is not known"}.`;
  if (exceeds(spend.dayUsd, caps.dailyUsd)) return text("daily", spend.dayUsd, caps.dailyUsd);
  if (exceeds(spend.monthUsd, caps.monthlyUsd)) return text("monthly", spend.monthUsd, caps.monthlyUsd);
  return null;
}

/** The one comparison of money: prices and their sums are binary fractions, so a ten-thousandth of a cent is no excess. */
export function isWithinUsd(sumUsd: number, boundUsd: number): boolean {
  return sumUsd <= boundUsd + 1e-6;
}

/** A sum as text; below a dollar with tenths of a cent. */
export function dollars(usd: number): string {
  return `$${usd.toFixed(usd < 1 && usd > 0 ? 3 : 2)}`;
}

/** Waits for all other purchases that are being stored, until the end of the transaction. */
export async function lockSpend(tx: Tx): Promise<void> {
  // A statement of its own: the sums that follow must see what the last holder committed.
  await tx.execute(sql`select lock_spend()`);
}

/** After midnight a request of the day before may still be on its way to its commit. */
const settledAfter = sql`interval '1 hour'`;
const oneDay = sql`interval '24 hours'`;
/** Midnight (UTC) before the longest month: older sums are of no use for a cap. */
const keptFrom = sql`(${dayStart} - 31 * ${oneDay})`;
/** The day of the oldest spending: no day may be passed, since a key's cap may count all that it ever spent. */
const firstDay = sql`coalesce(date_trunc('day', least((select min(created_at) from ${schema.providerAttempts}),
  (select min(started_at) from ${schema.modelCalls})) at time zone 'utc') at time zone 'utc', ${keptFrom})`;

/**
 * Adds up the days that are over, one after the other, up to the first with a request that has not ended. Called again
 * and again; each day is summed once.
 */
export async function sumPastDays({
  db,
  config,
}: {
  readonly db: Db;
  readonly config: Config;
}): Promise<void> {
  while (await db.transaction((tx) => sumNextDay(tx, config))) continue;
}

/** False when no further day can be summed now. */
async function sumNextDay(tx: Tx, config: Config): Promise<boolean> {
  const { dailySpend, modelCalls, providerAttempts, studio } = schema;
  await tx.execute(sql`insert into ${studio} (id) values (1) on conflict do nothing`);
  // The lock makes one process sum a day.
  const [next] = await tx.execute<{ from: string; until: string }>(sql`
    select start::text as "from", (start + ${oneDay})::text as until from (
      select coalesce(spend_summed_until, ${firstDay}) as start from ${studio} for update
    ) studio where start + ${oneDay} + ${settledAfter} < now()`);
  if (!next) return false;
  const isOf = (at: SQL) => sql`${at} >= ${next.from}::timestamptz and ${at} < ${next.until}::timestamptz`;
  const [open] = await tx.execute(sql`
    select from ${providerAttempts} where ${isOf(sql`created_at`)} and state in ('submitting', 'unknown', 'accepted') limit 1`);
  if (open) return false;
  await tx.execute(sql`
    insert into ${dailySpend} (day, owner_id, api_key_id, usd)
    select (${next.from}::timestamptz at time zone 'utc')::date, owner_id, api_key_id, sum(usd) from (
      select owner_id, api_key_id, ${spentOf(config)} as usd from ${providerAttempts} where ${isOf(sql`created_at`)}
      union all
      select owner_id, api_key_id, ${modelSpend} from ${modelCalls} where ${isOf(sql`started_at`)}
    ) spent group by owner_id, api_key_id having sum(usd) > 0`);
  await tx.execute(sql`update ${studio} set spend_summed_until = ${next.until}::timestamptz`);
  await tx.execute(sql`delete from ${dailySpend} where day < (${keptFrom} at time zone 'utc')::date
    and (api_key_id is null or owner_id is null and not exists (
      select from ${schema.keyCaps} c where c.key_id = ${dailySpend.apiKeyId}))`);
  return true;
}
