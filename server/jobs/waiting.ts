import { sql } from "drizzle-orm";
import { schema } from "../db/index.ts";
import { readWaits, toEstimate, type Wait } from "../scheduling/index.ts";
import type { Services } from "../services/index.ts";
import { jobFromRow, type Job } from "./job.ts";

/** A waiting job's place in its line. Times in ms. */
export interface WaitingJob {
  readonly id: string;
  readonly position: number;
  readonly waitMs: readonly [low: number, high: number];
  readonly runMs: readonly [low: number, high: number];
  /** False while nothing alive can run it. */
  readonly isLive: boolean;
  readonly reason: string | null;
}

export interface Waiting {
  /** The next of them. */
  readonly items: readonly WaitingJob[];
  /** How many wait in all. */
  readonly total: number;
}

/** More than that nobody reads. */
const shownJobs = 30;

/** The next of an owner's waiting jobs, in the order in which they will be served. */
export async function readWaiting(services: Services, ownerId: string): Promise<Waiting> {
  const { jobs } = schema;
  const result = await services.db.execute<Record<string, unknown>>(sql`
    select *, count(*) over () as total from ${jobs} where owner_id = ${ownerId} and status in ('pending', 'queued')
    order by status desc, tier desc, owner_order, id limit ${shownJobs}`);
  if (result.rows.length === 0) return { items: [], total: 0 };
  const own = result.rows.map(jobFromRow);
  const waits = await readAll(services, own);
  const items = own.flatMap((job) => {
    const wait = waits.get(job.id);
    return wait ? [toWaiting(job, wait)] : [];
  });
  return { items, total: Number(result.rows[0]?.total) };
}

/** The line of each queue is read once, whatever number of jobs stands in it. */
async function readAll({ db }: Services, own: readonly Job[]): Promise<Map<string, Wait>> {
  const waits = new Map<string, Wait>();
  for (const [queue, jobs] of Map.groupBy(own, (job) => job.queue)) {
    const found = await readWaits(db, queue, jobs.map(targetOf));
    for (const [at, wait] of found.entries()) waits.set(jobs[at]?.id ?? "", wait);
  }
  return waits;
}

function toWaiting(job: Job, wait: Wait): WaitingJob {
  const { position, isLive, waitMs, runMs } = toEstimate(wait, job.sizeClass);
  return { id: job.id, position, waitMs, runMs, isLive, reason: isLive ? null : awayReason(job) };
}

function targetOf(job: Job) {
  const { need, ownerId, tier, ownerOrder } = job;
  return { need, ownerId, tier, ownerOrder, isQueued: job.status === "queued" };
}

function awayReason({ engine }: Job): string {
  return engine === "local"
    ? "No worker is running at the moment; the job starts when one is back."
    : "The server that can do this is away at the moment; the job starts when it is back.";
}
