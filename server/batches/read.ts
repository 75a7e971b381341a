import { and, desc, eq, isNull, lt, sql } from "drizzle-orm";
import { z } from "zod";
import {
  type BatchAxis,
  claimedStatuses,
  finalStatuses,
  schema,
  toPage,
  type Tx,
  waitingStatuses,
} from "../db/index.ts";
import { type JobView, loadViews } from "../jobs/index.ts";
import { AppError, isId } from "../platform/index.ts";
import type { Services } from "../services.ts";
import { type BatchValues, valuesAt } from "./request.ts";

const { batches, batchJobs, batchSteps, jobs } = schema;

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
  /** What runs there now, or ran last. */
  readonly job: JobView | null;
  /** Null for a place of one job. */
  readonly steps: BatchPlaceSteps | null;
}

/** What follows the first job of a place. */
interface BatchPlaceSteps {
  readonly count: number;
  readonly begun: number;
  /** The jobs before the one that stands there now, in their order; those that were removed are left out. */
  readonly before: readonly string[];
  /** Why it goes on no more; `cancelled`, or the code of a refusal. */
  readonly stopped: { readonly code: string; readonly message: string } | null;
}

export interface BatchWithJobs extends BatchView {
  readonly jobs: readonly BatchPlace[];
}

export interface BatchAddress {
  readonly ownerId: string;
  readonly id: string;
}

type Row = typeof batches.$inferSelect;

interface Reader {
  readonly db: Services["db"] | Tx;
}

type Tally = Omit<BatchCounts, "removed"> & { readonly batchId: string; readonly progress: number };

/**
 * Jobs by where their place stands, and how much of the work is done. A place with a step to come waits, one that was
 * stopped has failed or was cancelled, whatever its job before made; `statusOf` in app/batches/batch.ts says the same.
 */
async function readTallies({ db }: Reader, ids: readonly string[]): Promise<Map<string, Tally>> {
  if (ids.length === 0) return new Map();
  const count = (...statuses: string[]) => sql`(count(*) filter (where status in ${statuses}))::int`;
  const rows = await db.execute<Tally & Record<string, unknown>>(sql`
    select batch_id as "batchId", ${count(...waitingStatuses)} as waiting,
      ${count(...claimedStatuses)} as running, ${count("completed")} as completed,
      ${count("failed")} as failed, ${count("cancelled")} as cancelled,
      sum(case when status in ${[...finalStatuses]} then 1 else (begun + progress) / (steps + 1) end)::float8 as progress
    from (select p.batch_id, coalesce(s.begun, 0) as begun, coalesce(s.steps, 0) as steps,
        case when j.status <> 'completed' or s.left_over is null or s.left_over = 0 then j.status
          when s.stopped is null then 'pending' when s.stopped = 'cancelled' then s.stopped else 'failed' end as status,
        j.progress
      from ${batchJobs} p join ${jobs} j on j.id = p.job_id
      left join (select batch_id, position, count(*) as steps, count(begun_at) as begun,
          count(*) - count(begun_at) as left_over, max(stopped_code) as stopped
        from ${batchSteps} where batch_id in ${[...ids]} group by batch_id, position) s
        on s.batch_id = p.batch_id and s.position = p.position
      where p.batch_id in ${[...ids]}) places
    group by batch_id`);
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
  const { items: page, nextCursor } = toPage(rows, limit, "id");
  const ids = page.map(({ id }) => id);
  const [tallies, covers] = await Promise.all([readTallies(services, ids), readCovers(services, ids)]);
  return {
    items: page.map((row) => ({ ...toView(row, tallies.get(row.id)), covers: covers.get(row.id) ?? [] })),
    nextCursor,
  };
}

/** Throws `not_found`, also for a batch of another owner. */
export async function findBatch({ db }: Reader, { ownerId, id }: BatchAddress): Promise<Row> {
  const [row] = isId(id)
    ? await db
        .select()
        .from(batches)
        .where(and(eq(batches.id, id), eq(batches.ownerId, ownerId), isNull(batches.deletedAt)))
    : [];
  if (!row) throw new AppError("not_found");
  return row;
}

export interface BatchPlan {
  /** Of the axes, by position. */
  readonly values: readonly BatchValues[];
  /** Jobs that wait or run. */
  readonly open: number;
}

/** What a batch varies, without its jobs. Throws `not_found`. */
export async function readPlan(services: Services, address: BatchAddress): Promise<BatchPlan> {
  const row = await findBatch(services, address);
  const { counts } = toView(row, (await readTallies(services, [row.id])).get(row.id));
  const values = Array.from({ length: row.size }, (_, position) => valuesAt(row.axes, position));
  return { values, open: counts.waiting + counts.running };
}

/** A batch with its jobs in their order, all as of one moment: places go on to their next jobs meanwhile. Throws `not_found`. */
export async function getBatch({ db }: Services, address: BatchAddress): Promise<BatchWithJobs> {
  const { row, tallies, steps, places, views } = await db.transaction(async (tx) => {
    await tx.execute(sql`set transaction isolation level repeatable read, read only`);
    const row = await findBatch({ db: tx }, address);
    return {
      row,
      tallies: await readTallies({ db: tx }, [row.id]),
      steps: await readSteps({ db: tx }, row.id),
      places: await tx.select().from(batchJobs).where(eq(batchJobs.batchId, row.id)),
      views: await loadViews(
        tx,
        sql`jobs.id in (select ${batchJobs.jobId} from ${batchJobs} where ${batchJobs.batchId} = ${row.id})`,
      ),
    };
  });
  const byId = new Map(views.map((view) => [view.id, view]));
  const byPosition = new Map(places.map(({ position, jobId }) => [position, byId.get(jobId) ?? null]));
  return {
    ...toView(row, tallies.get(row.id)),
    jobs: Array.from({ length: row.size }, (_, position) => ({
      position,
      values: valuesAt(row.axes, position),
      job: byPosition.get(position) ?? null,
      steps: steps.get(position) ?? null,
    })),
  };
}

async function readSteps({ db }: Reader, batchId: string): Promise<Map<number, BatchPlaceSteps>> {
  const rows = await db
    .select()
    .from(batchSteps)
    .where(eq(batchSteps.batchId, batchId))
    .orderBy(batchSteps.position, batchSteps.number);
  const byPosition = Map.groupBy(rows, ({ position }) => position);
  return new Map(byPosition.entries().map(([position, own]) => [position, stepsOf(own)]));
}

function stepsOf(own: readonly (typeof batchSteps.$inferSelect)[]): BatchPlaceSteps {
  const stopped = own.find(({ stoppedCode }) => stoppedCode !== null);
  return {
    count: own.length,
    begun: own.filter(({ begunAt }) => begunAt !== null).length,
    before: own.flatMap(({ sourceJobId }) => sourceJobId ?? []),
    stopped: stopped?.stoppedCode
      ? { code: stopped.stoppedCode, message: stopped.stoppedMessage ?? "" }
      : null,
  };
}
