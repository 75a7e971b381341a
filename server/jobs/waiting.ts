import { sql } from "drizzle-orm";
import { schema } from "../db/index.ts";
import { livePlaces, readWait, toEstimate } from "../scheduling/index.ts";
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

/** More than that nobody reads, and each costs a few statements. */
const shownJobs = 30;

/** The next of an owner's waiting jobs, in the order in which they will be served. */
export async function readWaiting(services: Services, ownerId: string): Promise<Waiting> {
  const { jobs } = schema;
  const result = await services.db.execute<Record<string, unknown>>(sql`
    select *, count(*) over () as total from ${jobs} where owner_id = ${ownerId} and status in ('pending', 'queued')
    order by status desc, tier desc, owner_order, id limit ${shownJobs}`);
  if (result.rows.length === 0) return { items: [], total: 0 };
  const live = await livePlaces(services.db);
  const waiting: WaitingJob[] = [];
  for (const job of result.rows.map(jobFromRow)) {
    const isLive = live.some(({ queue, need }) => queue === job.queue && need === job.need);
    const wait = await readWait(services.db, targetOf(job));
    const { position, waitMs, runMs } = toEstimate(wait, job.sizeClass);
    waiting.push({ id: job.id, position, waitMs, runMs, isLive, reason: isLive ? null : awayReason(job) });
  }
  return { items: waiting, total: Number(result.rows[0]?.total) };
}

function targetOf(job: Job) {
  const { queue, need, ownerId, tier, ownerOrder } = job;
  return { queue, need, ownerId, tier, ownerOrder, isQueued: job.status === "queued" };
}

function awayReason({ engine }: Job): string {
  return engine === "local"
    ? "No worker is running at the moment; the job starts when one is back."
    : "The server that can do this is away at the moment; the job starts when it is back.";
}
