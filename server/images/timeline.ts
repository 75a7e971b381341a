import { and, eq, isNull, sql } from "drizzle-orm";
import { type Db, lockTopic, schema, type Tx } from "../db/index.ts";
import { oneAtATime } from "../platform/index.ts";
import type { Services } from "../services.ts";
import { asksForTrash } from "./conditions.ts";
import { conditionsOfList, stackOf } from "./list.ts";
import { fillSearchTexts } from "./search-text.ts";

const { images, monthCounts, stackChanges, stackMonths, users } = schema;

/** How many pictures of a month a list of stacks shows. */
export interface MonthCount {
  /** Of UTC, as `2026-11`. */
  readonly month: string;
  readonly pictures: number;
}

interface CountInput {
  readonly ownerId: string;
  readonly search?: string | undefined;
  /** Of the days that a search names; UTC by default. The months are always of UTC. */
  readonly timezone?: string | undefined;
}

/** Pictures that a search may find before its months are not counted any more. */
const mostFound = 25_000;

/**
 * The months of `listImages` with `stacks` and this search, the newest first, only those with pictures; null for the trash and
 * for a search that finds too much. Throws `bad_request` for a search that cannot be read.
 */
export async function countMonths(
  { db }: Pick<Services, "db">,
  { ownerId, search, timezone }: CountInput,
): Promise<MonthCount[] | null> {
  if (search === undefined) return readKept(db, ownerId);
  if (asksForTrash(search)) return null;
  await fillSearchTexts(db, ownerId);
  const own = and(
    eq(images.ownerId, ownerId),
    isNull(images.deletedAt),
    ...conditionsOfList({ ownerId, search, timezone })(images),
  );
  const months = await db.execute<{ month: string; pictures: number; found: number }>(sql`
    with hits as materialized (
      select ${stackOf(images)} as stack, ${images.id}, ${images.createdAt}, ${images.toppedAt} from ${images} where ${own}
      limit ${mostFound + 1}),
    tops as (select distinct on (stack) created_at from hits order by stack, topped_at desc nulls last, id desc)
    select to_char(month, 'YYYY-MM') as month, pictures, (select count(*) from hits)::int as found
    from (select ${monthOf(sql`created_at`)} as month, count(*)::int as pictures from tops group by 1) counted
    order by month desc`);
  if ((months[0]?.found ?? 0) > mostFound) return null;
  return months.map(({ month, pictures }) => ({ month, pictures }));
}

const monthOf = (createdAt: ReturnType<typeof sql>) =>
  sql`date_trunc('month', ${createdAt} at time zone 'UTC')::date`;

/** The kept counts of all pictures, once the changes since are counted. */
async function readKept(db: Db, ownerId: string): Promise<MonthCount[]> {
  // One statement sees the counts and the notes of one moment: without a note the counts are true.
  const read = () =>
    db.execute<{ month: string | null; pictures: number; noted: boolean }>(sql`
      select to_char(kept.month, 'YYYY-MM') as month, kept.pictures, asked.noted
      from (select exists (select from ${stackChanges} where ${stackChanges.ownerId} = ${ownerId}) as noted) asked
      left join ${monthCounts} kept on kept.owner_id = ${ownerId}
      order by kept.month desc`);
  let rows = await read();
  if (rows.some(({ month, noted }) => noted || month === null)) {
    await countChanges(db, ownerId);
    rows = await read();
  }
  return rows.flatMap(({ month, pictures }) =>
    month === null || pictures === 0 ? [] : [{ month, pictures }],
  );
}

/** Changed stacks above which all of the owner's are counted. */
const mostChanged = 20_000;

/**
 * Counts what was noted. Writers wait for nobody: a note and its change become visible at once, the notes are taken first, and
 * the pictures are read after them. A change between the two is counted now and, by its own note, again.
 */
function countChanges(db: Db, ownerId: string): Promise<void> {
  // Requests of one owner wait here before they take a connection.
  return oneAtATime(`months of ${ownerId}`, () => db.transaction((tx) => countOnce(tx, ownerId)));
}

async function countOnce(tx: Tx, ownerId: string): Promise<void> {
  // Two that count at once would both add one change.
  await lockTopic(tx, "months", ownerId);
  // Before the rows below: a deletion of the owner holds the owner first, and then asks for them.
  const owner = await tx.select({ id: users.id }).from(users).where(eq(users.id, ownerId)).for("key share");
  if (owner.length === 0) return;
  const noted = await tx
    .delete(stackChanges)
    .where(eq(stackChanges.ownerId, ownerId))
    .returning({ id: stackChanges.stackId });
  const stackIds = [...new Set(noted.map(({ id }) => id))];
  const isCounted = (await tx.$count(monthCounts, eq(monthCounts.ownerId, ownerId))) > 0;
  if (!isCounted || stackIds.length > mostChanged) await countAll(tx, ownerId);
  else if (stackIds.length > 0) await countStacks(tx, ownerId, stackIds);
}

/** The month of each stack that has a picture in the list: that of the picture which shows it. */
const monthsOfStacks = (ownerId: string, which = sql`true`) => sql`
  select distinct on (stack) stack, ${monthOf(sql`created_at`)} as month
  from (select ${stackOf(images)} as stack, ${images.id}, ${images.createdAt}, ${images.toppedAt} from ${images}
    where ${images.ownerId} = ${ownerId} and ${images.deletedAt} is null and ${images.role} <> 'mask' and ${which}) own
  order by stack, topped_at desc nulls last, id desc`;

async function countAll(tx: Tx, ownerId: string): Promise<void> {
  await tx.delete(stackMonths).where(eq(stackMonths.ownerId, ownerId));
  await tx.delete(monthCounts).where(eq(monthCounts.ownerId, ownerId));
  await tx.execute(sql`
    with counted as (
      insert into ${stackMonths} (owner_id, stack_id, month)
      select ${ownerId}, stack, month from (${monthsOfStacks(ownerId)}) stacks returning month)
    insert into ${monthCounts} (owner_id, month, pictures)
    select ${ownerId}, month, count(*) from counted group by month`);
  // An owner without pictures has a row as well, else every look would count anew.
  await tx.execute(sql`
    insert into ${monthCounts} (owner_id, month, pictures)
    select ${ownerId}, ${monthOf(sql`now()`)}, 0 on conflict do nothing`);
}

async function countStacks(tx: Tx, ownerId: string, stackIds: readonly string[]): Promise<void> {
  const asked = sql`any(${sql.param(stackIds)}::uuid[])`;
  const ofOwner = sql`owner_id = ${ownerId} and stack_id = ${asked}`;
  await tx.execute(sql`
    with now as materialized (${monthsOfStacks(ownerId, sql`${stackOf(images)} = ${asked}`)}),
    before as materialized (select stack_id, month from ${stackMonths} where ${ofOwner}),
    gone as (delete from ${stackMonths} where ${ofOwner} and stack_id not in (select stack from now)),
    put as (
      insert into ${stackMonths} as kept (owner_id, stack_id, month) select ${ownerId}, stack, month from now
      on conflict (owner_id, stack_id) do update set month = excluded.month where kept.month <> excluded.month)
    insert into ${monthCounts} as kept (owner_id, month, pictures)
    select ${ownerId}, month, sum(change) from (
      select month, 1 as change from now union all select month, -1 from before) changes
    group by month having sum(change) <> 0
    on conflict (owner_id, month) do update set pictures = kept.pictures + excluded.pictures`);
}

const ownersAtOnce = 50;

/** A duty: counts what was noted for owners who do not look at their gallery, so that notes do not pile up. */
export async function countNoted({ db, log }: Pick<Services, "db" | "log">): Promise<void> {
  const owners = await db
    .select({ id: stackChanges.ownerId })
    .from(stackChanges)
    .groupBy(stackChanges.ownerId)
    .orderBy(sql`random()`)
    .limit(ownersAtOnce);
  for (const { id } of owners)
    await countChanges(db, id).catch((error: unknown) => {
      log.warn({ err: error, userId: id }, "months not counted, the next pass tries again");
    });
}
