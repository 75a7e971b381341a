import { sql } from "drizzle-orm";
import { schema } from "../db/index.ts";
import type { Services } from "../services.ts";
import { openStatuses } from "./job.ts";
import { type JobView, loadViews } from "./read.ts";

/** Views of these jobs, grouped by owner. */
async function readJobsByOwner(
  { db }: Pick<Services, "db">,
  ids: readonly string[],
): Promise<ReadonlyMap<string, readonly JobView[]>> {
  const { jobs } = schema;
  const [views, owners] = await Promise.all([
    loadViews(db, sql`jobs.id in ${[...ids]}`),
    db
      .select({ id: jobs.id, ownerId: jobs.ownerId })
      .from(jobs)
      .where(sql`${jobs.id} in ${[...ids]}`),
  ]);
  const ownerOf = new Map(owners.map((row) => [row.id, row.ownerId]));
  return Map.groupBy(views, (view) => ownerOf.get(view.id) ?? "");
}

export interface JobRevision {
  readonly id: string;
  readonly revision: number;
  readonly ownerId: string;
  /** The status is `processing`. */
  readonly isRunning: boolean;
}

/** Revisions of the owners' open jobs and of those that ended within the last `withinMs`. */
export async function readRevisions(
  { db }: Pick<Services, "db">,
  { ownerIds, withinMs }: { ownerIds: readonly string[]; withinMs: number },
): Promise<JobRevision[]> {
  const result = await db.execute<JobRevision & Record<string, unknown>>(sql`
    select id, revision, owner_id as "ownerId", status = 'processing' as "isRunning"
    from ${schema.jobs} where owner_id in ${[...ownerIds]}
      and (status in ${[...openStatuses]} or ended_at > now() - ${Math.round(withinMs)} * interval '1 millisecond')`);
  return result;
}

const readAtOnce = 200;

/** Jobs with a newer revision that are still to be read, in batches; a job that is added several times is read once. */
export interface PendingReads {
  add(jobId: string): void;
  /** Reads all pending jobs; returns at once while another call reads. */
  read(): Promise<void>;
}

export function createPendingReads(
  services: Pick<Services, "db" | "log">,
  onRead: (ownerId: string, jobs: readonly JobView[]) => void,
): PendingReads {
  const pending = new Set<string>();
  let reading = false;
  return {
    add: (jobId) => void pending.add(jobId),
    async read() {
      if (reading) return;
      reading = true;
      try {
        while (pending.size > 0) {
          const ids = [...pending].slice(0, readAtOnce);
          for (const id of ids) pending.delete(id);
          for (const [ownerId, jobs] of await readJobsByOwner(services, ids)) onRead(ownerId, jobs);
        }
      } catch (error) {
        services.log.warn({ err: error }, "live jobs not read, the next poll will");
      } finally {
        reading = false;
      }
    },
  };
}
