import { sql } from "drizzle-orm";
import { schema } from "../db/index.ts";
import type { Services } from "../services/index.ts";

/** Removes the stories of jobs that ended long ago; the jobs themselves stay. */
export async function pruneEvents({ db, config }: Pick<Services, "db" | "config">): Promise<void> {
  const { jobEvents, jobs } = schema;
  await db.execute(sql`
    delete from ${jobEvents} e using ${jobs} j
    where j.id = e.job_id and j.ended_at is not null
      and e.created_at < now() - ${config.retention.eventsMs} * interval '1 millisecond'`);
}
