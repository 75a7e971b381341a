import { sql } from "drizzle-orm";
import { schema } from "../db/index.ts";
import type { Services } from "../services/index.ts";
import type { JobView } from "./read.ts";
import { loadViews } from "./load-views.ts";
import { openStatuses } from "./status.ts";

/** The named jobs as they are now, by owner. */
export async function readJobsByOwner(
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
  /** An engine works on it. */
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
  return result.rows;
}
