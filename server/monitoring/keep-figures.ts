import { sql } from "drizzle-orm";
import { schema, type Tx } from "../db/index.ts";
import { figuresOf } from "./job-figures.ts";

/**
 * Keeps the figures of an ended job that is about to be removed, unless its hour has been added up already. Call it in
 * the transaction that removes the job, before the row goes.
 */
export async function keepFigures(tx: Tx, jobId: string): Promise<void> {
  const { jobFigures, figureMarks } = schema;
  // A statement of its own: what follows must see how far a pass that held the row has come.
  const marks = await tx.execute<{ until: string }>(
    sql`select until from ${figureMarks} where name = 'hours' for share`,
  );
  const until = marks.rows[0]?.until;
  if (!until) return;
  await tx.execute(sql`
    insert into ${jobFigures} (at, queue, measure, bucket, count)
    ${figuresOf(sql`j.id = ${jobId} and j.ended_at >= ${until}::timestamptz`, "minute")}
    on conflict (at, queue, measure, bucket) do update set count = job_figures.count + excluded.count`);
}
