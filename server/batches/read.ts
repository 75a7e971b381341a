import { and, desc, eq, isNull, lt, sql } from "drizzle-orm";
import { z } from "zod";
import { type BatchAxis, schema } from "../db/index.ts";
import { cancelBatchJobs, type JobView, loadViews, retry, type Submitter } from "../jobs/index.ts";
import { AppError, isId, toAppError } from "../platform/index.ts";
import type { Services } from "../services.ts";
import { type BatchValues, valuesAt } from "./request.ts";

const { batches, batchJobs, jobs } = schema;

/** Jobs of a batch by where they stand; together they are `size`. */
interface BatchCounts {
  readonly waiting: number;
  readonly running: number;
  readonly completed: number;
  readonly failed: number;
  readonly cancelled: number;
  /** Ephemeral jobs and those that were deleted. */
  readonly removed: number;
}

/** A batch without its jobs. Times are ISO 8601, UTC. */
export interface BatchView {
  readonly id: string;
  readonly title: string | null;
  readonly axes: readonly BatchAxis[] | null;
  readonly size: number;
  /** `ended`: no job of it is open. */
  readonly status: "open" | "ended";
  readonly counts: BatchCounts;
  /** Part of the work that is done, 0..1. */
  readonly progress: number;
  /** The most that all jobs could cost when they were accepted, US dollars; null where one had no known price. */
  readonly maxPriceUsd: number | null;
  readonly createdAt: string;
  readonly endedAt: string | null;
}

/** A place of a batch; `job` is null where the job was removed. */
export interface BatchPlace {
  readonly position: number;
  /** Of the axes; empty for a list of jobs. */
  readonly values: BatchValues;
  readonly job: JobView | null;
}

export interface BatchWithJobs extends BatchView {
  readonly jobs: readonly BatchPlace[];
}

export interface BatchAddress {
  readonly ownerId: string;
  readonly id: string;
}

type Row = typeof batches.$inferSelect;

type Tally = Omit<BatchCounts, "removed"> & { readonly batchId: string; readonly progress: number };

async function readTallies({ db }: Services, ids: readonly string[]): Promise<Map<string, Tally>> {
  if (ids.length === 0) return new Map();
  const count = (...statuses: string[]) => sql`(count(*) filter (where j.status in ${statuses}))::int`;
  const rows = await db.execute<Tally & Record<string, unknown>>(sql`
    select p.batch_id as "batchId", ${count("pending", "queued")} as waiting,
      ${count("waiting_for_engine", "processing")} as running, ${count("completed")} as completed,
      ${count("failed")} as failed, ${count("cancelled")} as cancelled,
      sum(case when j.ended_at is null then j.progress else 1 end)::float8 as progress
    from ${batchJobs} p join ${jobs} j on j.id = p.job_id where p.batch_id in ${[...ids]} group by p.batch_id`);
  return new Map(rows.map((row) => [row.batchId, row]));
}

const none = { waiting: 0, running: 0, completed: 0, failed: 0, cancelled: 0, progress: 0 };

function toView(
  { id, title, axes, size, maxPriceUsd, createdAt, endedAt }: Row,
  tally: Omit<Tally, "batchId"> = none,
): BatchView {
  const { waiting, running, completed, failed, cancelled } = tally;
  const removed = size - waiting - running - completed - failed - cancelled;
  return {
    id,
    title,
    axes,
    size,
    status: waiting + running > 0 ? "open" : "ended",
    counts: { waiting, running, completed, failed, cancelled, removed },
    progress: Math.min(1, (tally.progress + removed) / size),
    maxPriceUsd,
    createdAt: createdAt.toISOString(),
    endedAt: endedAt?.toISOString() ?? null,
  };
}

type Covers = ListedBatch["covers"];

async function readCovers({ db }: Services, ids: readonly string[]): Promise<Map<string, Covers>> {
  if (ids.length === 0) return new Map();
  const { images, jobOutputs } = schema;
  const rows = await db.execute<{ id: string; covers: Covers }>(sql`
    select b.id, (select coalesce(jsonb_agg(c), '[]') from (
      select o.image_id as "imageId", i.thumbhash from ${batchJobs} p
      join ${jobOutputs} o on o.job_id = p.job_id and o.position = 0
      join ${images} i on i.id = o.image_id and i.deleted_at is null
      where p.batch_id = b.id order by p.position limit 4) c) as covers
    from ${batches} b where b.id in ${[...ids]}`);
  return new Map(rows.map(({ id, covers }) => [id, covers]));
}

export const listBatchesSchema = z.object({
  /** `nextCursor` of the previous page. */
  cursor: z.uuid().optional(),
  limit: z.coerce.number().int().min(1).max(100).default(50),
});

/** A batch with up to four of its first results, by which one knows it again in a list. */
export interface ListedBatch extends BatchView {
  readonly covers: readonly { readonly imageId: string; readonly thumbhash: string }[];
}

export interface BatchPage {
  readonly items: readonly ListedBatch[];
  readonly nextCursor: string | null;
}

/** An owner's batches, newest first. Ids sort by time, so the last id is the cursor. */
export async function listBatches(
  services: Services,
  { ownerId, cursor, limit }: z.output<typeof listBatchesSchema> & { readonly ownerId: string },
): Promise<BatchPage> {
  const rows = await services.db
    .select()
    .from(batches)
    .where(
      and(
        eq(batches.ownerId, ownerId),
        isNull(batches.deletedAt),
        ...(cursor ? [lt(batches.id, cursor)] : []),
      ),
    )
    .orderBy(desc(batches.id))
    .limit(limit + 1);
  const page = rows.slice(0, limit);
  const ids = page.map(({ id }) => id);
  const [tallies, covers] = await Promise.all([readTallies(services, ids), readCovers(services, ids)]);
  return {
    items: page.map((row) => ({ ...toView(row, tallies.get(row.id)), covers: covers.get(row.id) ?? [] })),
    nextCursor: rows.length > limit ? (page.at(-1)?.id ?? null) : null,
  };
}

/** Throws `not_found`, also for a batch of another owner. */
async function findBatch({ db }: Services, { ownerId, id }: BatchAddress): Promise<Row> {
  const [row] = isId(id)
    ? await db
        .select()
        .from(batches)
        .where(and(eq(batches.id, id), eq(batches.ownerId, ownerId), isNull(batches.deletedAt)))
    : [];
  if (!row) throw new AppError("not_found");
  return row;
}

/** A batch with its jobs in their order. Throws `not_found`. */
export async function getBatch(services: Services, address: BatchAddress): Promise<BatchWithJobs> {
  const row = await findBatch(services, address);
  const [tallies, places, views] = await Promise.all([
    readTallies(services, [row.id]),
    services.db.select().from(batchJobs).where(eq(batchJobs.batchId, row.id)),
    loadViews(
      services.db,
      sql`jobs.id in (select ${batchJobs.jobId} from ${batchJobs} where ${batchJobs.batchId} = ${row.id})`,
    ),
  ]);
  const byId = new Map(views.map((view) => [view.id, view]));
  const byPosition = new Map(places.map(({ position, jobId }) => [position, byId.get(jobId) ?? null]));
  return {
    ...toView(row, tallies.get(row.id)),
    jobs: Array.from({ length: row.size }, (_, position) => ({
      position,
      values: valuesAt(row.axes, position),
      job: byPosition.get(position) ?? null,
    })),
  };
}

/** Cancels what is open of it; what was done stays. Returns how many jobs were asked to stop. Throws `not_found`. */
export async function cancelBatch(
  services: Services,
  address: BatchAddress,
): Promise<{ readonly cancelled: number }> {
  const { id } = await findBatch(services, address);
  return { cancelled: await cancelBatchJobs(services, id) };
}

export interface BatchRetry {
  /** Jobs that run again, each in the place of the failed one. */
  readonly retried: number;
  /** Jobs that could not be accepted again, with the reason. */
  readonly refused: readonly { readonly position: number; readonly code: string; readonly message: string }[];
}

/**
 * Runs the failed and cancelled jobs again, within the bounds that were agreed for each of them. What is refused does not
 * hold up the others. Throws `not_found`, and `conflict` when none has failed.
 */
export async function retryBatch(
  services: Services,
  { submitter, id }: { readonly submitter: Submitter; readonly id: string },
): Promise<BatchRetry> {
  const batch = await getBatch(services, { ownerId: submitter.userId, id });
  const again = batch.jobs.filter(({ job }) => job?.status === "failed" || job?.status === "cancelled");
  if (again.length === 0) throw new AppError("conflict", "No job of the batch has failed or was cancelled.");
  const refused: BatchRetry["refused"][number][] = [];
  for (const { position, job } of again) {
    try {
      if (job) await retry(services, { submitter, id: job.id });
    } catch (error) {
      const { code, message } = toAppError(error);
      refused.push({ position, code, message });
    }
  }
  return { retried: again.length - refused.length, refused };
}
