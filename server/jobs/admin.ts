import { eq, sql } from "drizzle-orm";
import { openStatuses, schema, type Tier, tiers } from "../db/index.ts";
import { AppError, isId } from "../platform/index.ts";
import type { Services } from "../services.ts";
import { amend, hint, isFinal } from "./job.ts";
import { type JobLog, readJobLogs } from "./logs.ts";
import { type JobEventView, type JobView, loadViews } from "./read.ts";

/**
 * Changes the tier of an open job; for a claimed job the new tier applies from the next attempt. Idempotent. Throws
 * `not_found`, and `conflict` when the job has ended.
 */
export async function setTier(services: Services, { id, tier }: { id: string; tier: Tier }): Promise<void> {
  if (!isId(id)) throw new AppError("not_found");
  const changed = await amend(services.db, {
    where: sql`${schema.jobs.id} = ${id} and status in ${[...openStatuses]} and tier <> ${tiers[tier]}`,
    set: { tier: tiers[tier] },
    event: "tier_changed",
    data: { tier },
  });
  if (changed) {
    hint(services, [changed]);
    return;
  }
  const { jobs } = schema;
  const [job] = await services.db.select({ status: jobs.status }).from(jobs).where(eq(jobs.id, id));
  if (!job) throw new AppError("not_found");
  if (isFinal(job.status)) throw new AppError("conflict", "The job has ended in the meantime.");
}

/** One event of a story with the name of its node. */
interface StoryEvent extends JobEventView {
  readonly node: string | null;
}

/** A job with everything that admins may see. */
export interface AnyStory extends JobView {
  readonly owner: { readonly id: string; readonly name: string; readonly email: string | null };
  readonly nodeId: string | null;
  readonly events: readonly StoryEvent[];
  readonly errorDetails: Readonly<Record<string, unknown>> | null;
  readonly facts: Readonly<Record<string, unknown>> | null;
  /** Addresses of servers that the job avoids. */
  readonly avoid: readonly string[];
  /** The next attempt runs alone on its node, because a worker died during an earlier one. */
  readonly runAlone: boolean;
  readonly externalId: string | null;
  /** What web and workers logged about the job, oldest first. */
  readonly logs: readonly JobLog[];
  /** Jobs that are retries of this job. */
  readonly retries: readonly { readonly id: string; readonly status: JobView["status"] }[];
}

type Rest = Record<string, unknown> &
  Pick<
    AnyStory,
    "owner" | "nodeId" | "errorDetails" | "facts" | "avoid" | "runAlone" | "externalId" | "retries"
  >;

/** The full story of a job of any owner, for admins. Throws `not_found`. */
export async function readAnyStory({ db }: Pick<Services, "db">, { id }: { id: string }): Promise<AnyStory> {
  if (!isId(id)) throw new AppError("not_found");
  const [[job], rest, events, logs] = await Promise.all([
    loadViews(db, sql`jobs.id = ${id}`, sql``),
    readRest(db, id),
    readNamedEvents(db, id),
    readJobLogs({ db }, { id }),
  ]);
  if (!job || !rest) throw new AppError("not_found");
  return { ...job, ...rest, events, logs };
}

async function readRest(db: Services["db"], id: string): Promise<Rest | undefined> {
  const { jobs, users } = schema;
  const result = await db.execute<Rest>(sql`
    select json_build_object('id', u.id, 'name', u.name, 'email', case when u.is_anonymous then null else u.email end) as owner,
      j.node_id as "nodeId", j.error_details as "errorDetails", j.facts, to_json(j.avoid) as avoid, j.run_alone as "runAlone",
      j.external_id as "externalId",
      (select coalesce(json_agg(json_build_object('id', r.id, 'status', r.status) order by r.retry_number), '[]')
        from ${jobs} r where r.retry_of = j.id) as retries
    from ${jobs} j join ${users} u on u.id = j.owner_id where j.id = ${id}`);
  return result[0];
}

async function readNamedEvents(db: Services["db"], id: string): Promise<StoryEvent[]> {
  const { jobEvents, nodes } = schema;
  const result = await db.execute<Record<string, unknown> & StoryEvent>(sql`
    select e.revision, e.type, e.status, e.data, n.name as node,
      to_char(e.created_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as at
    from ${jobEvents} e left join ${nodes} n on n.id::text = e.data ->> 'nodeId'
    where e.job_id = ${id} order by e.revision`);
  return result;
}
