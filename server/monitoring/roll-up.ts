import { sql } from "drizzle-orm";
import { deleteInBatches, schema, type Tx } from "../db/index.ts";
import type { Services } from "../services.ts";
import { figuresOf } from "./figures.ts";

const { jobFigures, figureMarks } = schema;

/**
 * Keeps the figures of ended jobs that are about to be removed, unless their hour has been added up already. Call it in
 * the transaction that removes the jobs, before the rows go.
 */
export async function keepFigures(tx: Tx, jobIds: readonly string[]): Promise<void> {
  // A separate statement: the next one must see the mark of another pass that held the row.
  const marks = await tx.execute<{ until: string }>(
    sql`select until from ${figureMarks} where name = 'hours' for share`,
  );
  const until = marks[0]?.until;
  if (!until) return;
  await tx.execute(sql`
    insert into ${jobFigures} (at, queue, measure, bucket, count)
    ${figuresOf(sql`j.id in ${[...jobIds]} and j.ended_at >= ${until}::timestamptz`, "minute")}
    on conflict (at, queue, measure, bucket) do update set count = job_figures.count + excluded.count`);
}

/** An hour is added up this long after its end: the last hour is read by the minute, and late commits are in. */
const restMinutes = 65;
/** Figures are kept for this long; no page shows a longer window. */
const keptDays = 90;

/** Sums the hours that are over. Safe to run from several processes at once; returns the number of processed days. */
export async function rollUp({ db }: Pick<Services, "db">): Promise<number> {
  let chunks = 0;
  while (await db.transaction(addUpDay)) chunks += 1;
  await deleteInBatches(db, jobFigures, sql`${jobFigures.at} < now() - ${keptDays} * interval '1 day'`);
  return chunks;
}

/** Up to a day, so that no transaction is long; false when nothing is left to do. */
async function addUpDay(tx: Tx): Promise<boolean> {
  // The row is the lock: the removal of an ended job reads it FOR SHARE and counts the job only while its hour is open.
  const marks = await tx.execute<Span & { to: string }>(sql`
    select m.until as mark, date_trunc('hour', now() - ${restMinutes} * interval '1 minute', 'UTC') as to,
      (select date_trunc('hour', min(j.ended_at), 'UTC') from ${schema.jobs} j where j.ended_at >= m.until) as first
    from ${figureMarks} m where m.name = 'hours' for update of m`);
  const mark = marks[0];
  if (!mark) return false;
  // Without an ended job the second term is null, which LEAST leaves out.
  const moved = await tx.execute<{ until: string }>(sql`
    update ${figureMarks} set until = least(${mark.to}::timestamptz, ${mark.first}::timestamptz + interval '1 day')
    where name = 'hours' and until < ${mark.to}::timestamptz returning until`);
  const until = moved[0]?.until;
  if (!until) return false;
  await addUp(tx, { mark: mark.mark, first: mark.first, until });
  return true;
}

/** Texts of the database, which are more exact than a Date. */
interface Span extends Record<string, unknown> {
  /** Up to where all is added up. */
  readonly mark: string;
  /** Hour of the first job that ended since; null without one. */
  readonly first: string | null;
}

/** Ended jobs of these hours, and what was kept by the minute of jobs that are gone. */
async function addUp(tx: Tx, { mark, first, until }: Span & { until: string }): Promise<void> {
  const isByMinute = sql`at >= ${mark}::timestamptz and at < ${until}::timestamptz and at <> date_trunc('hour', at, 'UTC')`;
  await tx.execute(sql`
    insert into ${jobFigures} (at, queue, measure, bucket, count)
    select at, queue, measure, bucket, sum(count) from (
      ${figuresOf(sql`j.ended_at >= ${first}::timestamptz and j.ended_at < ${until}::timestamptz`, "hour")}
      union all
      select date_trunc('hour', at, 'UTC'), queue, measure, bucket, count from ${jobFigures} where ${isByMinute}
    ) parts group by at, queue, measure, bucket
    on conflict (at, queue, measure, bucket) do update set count = job_figures.count + excluded.count`);
  await tx.execute(sql`delete from ${jobFigures} where ${isByMinute}`);
}
