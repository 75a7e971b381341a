import { and, eq, gt, sql } from "drizzle-orm";
import { schema } from "../db/index.ts";
import { AppError, isId } from "../platform/index.ts";
import type { Services } from "../services/index.ts";
import type { JobEventView, JobView } from "./read.ts";
import { loadViews } from "./load-views.ts";
import { serverLabel } from "./server-label.ts";

export interface JobAddress {
  readonly ownerId: string;
  readonly id: string;
}

/** One job of an owner; throws `not_found` for another's as for one that is not there. */
export async function get(services: Services, { ownerId, id }: JobAddress): Promise<JobView> {
  if (!isId(id)) throw new AppError("not_found");
  const [job] = await loadViews(services.db, sql`jobs.id = ${id} and jobs.owner_id = ${ownerId}`, sql``);
  if (!job) throw new AppError("not_found");
  return job;
}

/** The story of a job after a revision, oldest first, as its owner may read it. */
export async function readEvents(
  services: Services,
  { id, after = 0 }: { id: string; after?: number },
): Promise<JobEventView[]> {
  const { jobEvents } = schema;
  const rows = await services.db
    .select()
    .from(jobEvents)
    .where(and(eq(jobEvents.jobId, id), gt(jobEvents.revision, after)))
    .orderBy(jobEvents.revision);
  return rows.map(({ revision, type, status, data, createdAt }) => ({
    revision,
    type,
    status,
    data: toOwnerData(data),
    at: createdAt.toISOString(),
  }));
}

/** Addresses, ids of nodes and texts of exceptions are for admins; owners see what a server is called. */
function toOwnerData(all: JobEventView["data"]): JobEventView["data"] {
  const { nodeId: _nodeId, exception: _exception, ...data } = all;
  return typeof data["server"] === "string" ? { ...data, server: serverLabel(data["server"]) } : data;
}

export interface JobStory extends JobView {
  readonly events: readonly JobEventView[];
  readonly facts: Readonly<Record<string, unknown>> | null;
}

/** A job with all that happened to it and what its engine measured. */
export async function getStory(services: Services, address: JobAddress): Promise<JobStory> {
  const job = await get(services, address);
  const { jobs } = schema;
  const [[row], events] = await Promise.all([
    services.db.select({ facts: jobs.facts }).from(jobs).where(eq(jobs.id, job.id)),
    readEvents(services, { id: job.id }),
  ]);
  return { ...job, events, facts: row?.facts ?? null };
}
