import { keptBy, orLate } from "../platform/index.ts";
import { and, eq, inArray, sql } from "drizzle-orm";
import { type Db, duration, schema, type Tx, waitingStatuses } from "../db/index.ts";
import type { Need } from "../engines.ts";
import type { Services } from "../services.ts";
import { hint, inOrderOfId, jobFromRow } from "./job.ts";

interface Planned {
  hasBegun: boolean;
  readonly done: Promise<void>;
}

const plannedOf = keptBy((_services: Services) => new Map<string, Planned>());

/**
 * Dispatches a queue after a committed change. Simultaneous callers of this process share the dispatch that runs and
 * the one after it, so that many changes cost two dispatches and one connection. Never throws: the change is already
 * committed, and after a failure the sweep dispatches.
 */
export function scheduleDispatch(services: Services, queue: string): Promise<void> {
  const planned = plannedOf(services);
  const last = planned.get(queue);
  // A dispatch that has not begun will see the commit of this caller; a running one may not.
  if (last && !last.hasBegun) return last.done;
  const own: Planned = { hasBegun: false, done: run() };
  planned.set(queue, own);
  return own.done;

  async function run(): Promise<void> {
    await last?.done;
    own.hasBegun = true;
    await tryDispatch(services, queue);
    if (planned.get(queue) === own) planned.delete(queue);
  }
}

async function tryDispatch(services: Services, queue: string): Promise<void> {
  try {
    await dispatch(services, queue);
  } catch (error) {
    services.log.warn({ err: error, queue }, "dispatch failed, the sweep will start what waits");
  }
}

/** A row that was moved into the window. */
export interface Dispatched {
  readonly id: string;
  readonly ownerId: string;
  readonly need: string;
  readonly revision: number;
  readonly attempt: number;
  readonly ring: number;
  /** Free slots for its need at that moment. */
  readonly idle: number;
}

/**
 * Moves the next rows of a queue from the line into its window, in fair order, and rings for them: one call of
 * `dispatch_queue`. The window holds for each need as many unclaimed rows as slots are free, with all busy a few for
 * the next ends, and at least one, so that a returning node finds work.
 */
export async function dispatch(services: Services, queue: string): Promise<readonly Dispatched[]> {
  const moved = await services.db.execute<Dispatched & Record<string, unknown>>(sql`
    select id, owner_id as "ownerId", need, revision, attempt, ring, idle from dispatch_queue(${queue})`);
  if (moved.length > 0) {
    hint(services, moved);
    await ringFor(services, queue, moved);
  }
  return moved;
}

/** Excludes all other dispatches of the queue until the end of the transaction. */
export async function lockLine(tx: Tx, queue: string): Promise<void> {
  // A separate statement: the next one must see what the last holder of the lock committed.
  await tx.execute(sql`select lock_line(${queue})`);
}

/**
 * Rings again for queued rows whose bell is old: a lost bell delays a job by one sweep at most. Only while a suitable
 * node has a free slot, or bells would pile up at busy nodes. Changes neither the revision nor the story of a job.
 * With `olderThanMs` 0 it rings for every such row.
 */
export async function rering(
  services: Services,
  olderThanMs = services.config.timing.reringMs,
): Promise<number> {
  const { jobs } = schema;
  const result = await services.db.execute<Record<string, unknown>>(sql`
    update ${jobs} set ring = ring + 1, rung_at = clock_timestamp()
    where ${inOrderOfId(sql`status = 'queued' and rung_at < clock_timestamp() - ${duration(olderThanMs)}
      and idle_slots(${jobs.queue}, ${jobs.need}) > 0`)}
    returning *`);
  const rows = result.map(jobFromRow);
  const byQueue = [...Map.groupBy(rows, (job) => job.queue)];
  await Promise.all(byQueue.map(([queue, own]) => ring(services, queue, own)));
  return rows.length;
}

type Unclaimed = Pick<Dispatched, "id" | "need" | "attempt" | "ring" | "idle">;

/**
 * Rings for rows of the window, as often as slots are free: the run that ends in a busy slot looks for the next row
 * itself. Whether the others are still busy is read after the commit of the rows: a run that ends later sees them.
 */
export async function ringFor(services: Services, queue: string, moved: readonly Unclaimed[]): Promise<void> {
  const byNeed = [...Map.groupBy(moved, ({ need }) => need)];
  const idleOf = (rows: readonly Unclaimed[]) => rows[0]?.idle ?? 0;
  await ring(
    services,
    queue,
    byNeed.flatMap(([, rows]) => rows.slice(0, idleOf(rows))),
  );
  const others = byNeed.filter(([, rows]) => rows.length > idleOf(rows));
  if (others.length === 0) return;
  try {
    const needs = others.map(([need]) => need);
    const idle = await readIdle(services.db, queue, needs);
    const freed = others.flatMap(([need, rows]) => rows.slice(idleOf(rows)).slice(0, idle.get(need) ?? 0));
    await ring(services, queue, freed);
  } catch (error) {
    services.log.warn({ err: error, queue }, "free slots not read, the sweep will ring");
  }
}

async function readIdle(db: Db, queue: string, needs: readonly string[]): Promise<Map<string, number>> {
  const rows = await db.execute<{ need: string; idle: number }>(sql`
    select need, idle_slots(${queue}, need) as idle from jsonb_array_elements_text(${JSON.stringify(needs)}::jsonb) need`);
  return new Map(rows.map(({ need, idle }) => [need, idle]));
}

const ringTimeoutMs = 2_000;

type Rung = Pick<Dispatched, "id" | "attempt" | "ring">;

/** Sends bells for queued rows after their commit. A failure is only logged: the sweep rings again. */
async function ring(
  { bells, log }: Pick<Services, "bells" | "log">,
  queue: string,
  rows: readonly Rung[],
): Promise<void> {
  if (rows.length === 0) return;
  const calls = rows.map(({ id, attempt, ring: number }) => ({ jobId: id, attempt, ring: number }));
  try {
    await orLate(bells.ring(queue, calls), ringTimeoutMs, () => {
      throw new Error(`no answer of the queue within ${ringTimeoutMs} ms`);
    });
  } catch (error) {
    log.warn({ err: error, queue, jobIds: rows.map((row) => row.id) }, "bell not rung, the sweep will");
  }
}

interface WaitingIn {
  readonly queue: string;
  readonly needs?: readonly Need[];
  /** A job that rests, for instance until its LoRA is back, counts when it is due again within this time. */
  readonly dueWithinMs: number;
}

/** Whether a job waits in the queue, of these needs where they are given. */
export async function isAnyWaiting(
  { db }: Pick<Services, "db">,
  { queue, needs, dueWithinMs }: WaitingIn,
): Promise<boolean> {
  const { jobs } = schema;
  const isOfQueue = and(eq(jobs.queue, queue), inArray(jobs.status, [...waitingStatuses]));
  const dueBy = sql`now() + ${duration(dueWithinMs)}`;
  const isDue = sql`(${jobs.notBefore} is null or ${jobs.notBefore} <= ${dueBy})`;
  const [one] = await db
    .select({ id: jobs.id })
    .from(jobs)
    .where(and(isOfQueue, isDue, needs && inArray(jobs.need, [...needs])))
    .limit(1);
  return one !== undefined;
}
