import { schema, type JobStatus } from "@atelier/server/db";
import type { Job } from "@atelier/server/jobs";
import type { Services } from "@atelier/server/services";
import { eq, inArray } from "drizzle-orm";
import { waitUntil } from "../../scripts/process/tools.ts";

type WithDb = Pick<Services, "db">;

/** The row as it is now; throws when there is none. */
export async function readJob({ db }: WithDb, id: string): Promise<Job> {
  const [job] = await db.select().from(schema.jobs).where(eq(schema.jobs.id, id));
  if (!job) throw new Error(`there is no job ${id}`);
  return job;
}

/** The story of a job, oldest first. */
export async function readStory({ db }: WithDb, id: string) {
  const { jobEvents } = schema;
  return db.select().from(jobEvents).where(eq(jobEvents.jobId, id)).orderBy(jobEvents.revision);
}

/** Waits until all these jobs have one of the statuses; throws with what they are after `patienceMs`. */
export async function untilAll(
  services: WithDb,
  ids: readonly string[],
  { statuses, patienceMs = 30_000 }: { statuses: readonly JobStatus[]; patienceMs?: number },
): Promise<Job[]> {
  const { jobs } = schema;
  let rows: Job[] = [];
  const reached = await waitUntil(async () => {
    rows = await services.db
      .select()
      .from(jobs)
      .where(inArray(jobs.id, [...ids]))
      // The database itself may be what the test stopped.
      .catch(() => []);
    return rows.length === ids.length && rows.every((row) => statuses.includes(row.status));
  }, patienceMs);
  if (reached) return rows;
  const seen = rows.map(({ id, status, attempt, charged, errorCode }) => ({
    id,
    status,
    attempt,
    charged,
    errorCode,
  }));
  throw new Error(`not ${statuses.join(" or ")}: ${JSON.stringify(seen)}`);
}

/** Waits for one job. */
export async function until(services: WithDb, id: string, ...statuses: JobStatus[]): Promise<Job> {
  const [job] = await untilAll(services, [id], { statuses });
  if (!job) throw new Error(`there is no job ${id}`);
  return job;
}
