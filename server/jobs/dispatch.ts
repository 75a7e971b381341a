import { sql } from "drizzle-orm";
import { type Db, schema, type Tx } from "../db/index.ts";
import type { Services } from "../services.ts";
import { hint, inOrderOfId, type Job, jobFromRow, transitionAll } from "./job.ts";

interface Turn {
  hasBegun: boolean;
  readonly done: Promise<void>;
}

const turnsByServices = new WeakMap<Services, Map<string, Turn>>();

/**
 * Dispatches a queue after a committed change. Simultaneous callers of this process share the dispatch that runs and
 * the one after it, so that many changes cost two dispatches and one connection. Never throws: the change is already
 * committed, and after a failure the sweep dispatches.
 */
export function scheduleDispatch(services: Services, queue: string): Promise<void> {
  const turns = turnsOf(services);
  const last = turns.get(queue);
  // A turn that has not begun will see the commit of this caller; a running one may not.
  if (last && !last.hasBegun) return last.done;
  const turn: Turn = { hasBegun: false, done: run() };
  turns.set(queue, turn);
  return turn.done;

  async function run(): Promise<void> {
    await last?.done;
    turn.hasBegun = true;
    await tryDispatch(services, queue);
    if (turns.get(queue) === turn) turns.delete(queue);
  }
}

function turnsOf(services: Services): Map<string, Turn> {
  const known = turnsByServices.get(services);
  if (known) return known;
  const turns = new Map<string, Turn>();
  turnsByServices.set(services, turns);
  return turns;
}

async function tryDispatch(services: Services, queue: string): Promise<void> {
  try {
    await dispatch(services, queue);
  } catch (error) {
    services.log.warn({ err: error, queue }, "dispatch failed, the sweep will start what waits");
  }
}

/**
 * Moves the next rows of a queue from the line into its window, in fair order, and rings for them. The window holds
 * for each need as many unclaimed rows as live slots can run, and at least one, so that a returning node finds work.
 */
export async function dispatch(services: Services, queue: string): Promise<Job[]> {
  // Check without the lock; usually there is no room. Of two concurrent commits the later one sees both.
  if (!hasRoom(await readRoom(services.db, queue))) return [];
  const moved = await services.db.transaction(async (tx) => {
    await lockLine(tx, queue);
    return fillWindow(tx, queue);
  });
  if (moved.length > 0) {
    hint(services, moved);
    await ring(services, moved);
  }
  return moved;
}

/** Excludes all other dispatches of the queue until the end of the transaction. */
export async function lockLine(tx: Tx, queue: string): Promise<void> {
  // A separate statement: the next one must see what the last holder of the lock committed.
  await tx.execute(sql`select pg_advisory_xact_lock(hashtext('dispatch'), hashtext(${queue}))`);
}

/**
 * SQL condition: the row was claimed before and its last try was not charged, or a server still holds its prompt. Such
 * rows leave the line first, since their owner has already used a turn for them.
 */
export const isResumed = sql`attempt > 0 and (external_id is not null or attempt > charged)`;

const isDue = sql`status = 'pending' and (not_before is null or not_before <= now())`;

interface Room {
  /** By need: rows that may leave the line, at most the free part of the window. */
  readonly free: Map<string, number>;
  /** Rows that leave the line even when the window is full. Each was claimed before, so there is at most one per slot. */
  readonly resumed: number;
}

function hasRoom({ free, resumed }: Room): boolean {
  return resumed > 0 || [...free.values()].some((count) => count > 0);
}

async function readRoom(tx: Db | Tx, queue: string): Promise<Room> {
  const { jobs, nodes, nodeQueues } = schema;
  const result = await tx.execute<{ need: string; free: number; resumed: number }>(sql`
    select line.need, line.resumed, least(line.waiting, greatest(1, coalesce(sum(q.slots) filter (where n.id is not null), 0)) - line.unclaimed)::int as free
    from (
      select need, count(*) filter (where ${isDue}) as waiting, count(*) filter (where ${isDue} and ${isResumed})::int as resumed,
        count(*) filter (where status = 'queued' and avoid = '{}') as unclaimed
      from ${jobs} where queue = ${queue} and status in ('pending', 'queued') group by need
    ) line
    left join ${nodeQueues} q on q.queue = ${queue} and line.need = any(q.needs)
    left join ${nodes} n on n.id = q.node_id and n.state = 'active'
    where line.waiting > 0
    group by line.need, line.waiting, line.resumed, line.unclaimed`);
  return {
    free: new Map(result.map((row) => [row.need, row.free])),
    resumed: result.reduce((sum, row) => sum + row.resumed, 0),
  };
}

async function fillWindow(tx: Tx, queue: string): Promise<Job[]> {
  const { free, resumed } = await readRoom(tx, queue);
  const picked: string[] = [];
  for (const { id, need } of resumed > 0 ? await readResumed(tx, queue) : []) {
    picked.push(id);
    free.set(need, (free.get(need) ?? 0) - 1);
  }
  for (;;) {
    const needs = [...free].filter(([, count]) => count > 0).map(([need]) => need);
    const next = needs.length > 0 ? await pickNext(tx, { queue, needs, except: picked }) : null;
    if (!next) break;
    picked.push(next.id);
    free.set(next.need, (free.get(next.need) ?? 0) - 1);
  }
  if (picked.length === 0) return [];
  return transitionAll(tx, {
    from: ["pending"],
    to: "queued",
    where: sql`${schema.jobs.id} in ${picked}`,
    set: {
      queuedAt: sql`clock_timestamp()`,
      rungAt: sql`clock_timestamp()`,
      ring: sql`ring + 1`,
      notBefore: null,
    },
    event: "queued",
  });
}

async function readResumed(tx: Tx, queue: string): Promise<Pick<Job, "id" | "need">[]> {
  const result = await tx.execute<Pick<Job, "id" | "need">>(
    sql`select id, need from ${schema.jobs} where queue = ${queue} and ${isDue} and ${isResumed} order by id`,
  );
  return result;
}

/** The fair pick: highest tier, then the owner served longest ago in this queue, then the first due job of that owner. */
async function pickNext(
  tx: Tx,
  { queue, needs, except }: { queue: string; needs: readonly string[]; except: readonly string[] },
): Promise<Pick<Job, "id" | "need"> | null> {
  const notPicked = except.length > 0 ? sql`and id not in ${[...except]}` : sql``;
  const result = await tx.execute<Record<string, unknown>>(sql`
    with heads as (
      select distinct on (tier, owner_id) * from ${schema.jobs}
      where queue = ${queue} and status = 'pending' and need in ${[...needs]}
        and (not_before is null or not_before <= now()) ${notPicked}
      order by tier desc, owner_id, owner_order, id
    ), chosen as (
      select heads.* from heads left join ${schema.queueTurns} t on t.queue = heads.queue and t.owner_id = heads.owner_id
      order by heads.tier desc, t.served_at nulls first, heads.id limit 1
    ), served as (
      insert into ${schema.queueTurns} (queue, owner_id, served_at)
      select queue, owner_id, clock_timestamp() from chosen
      on conflict (queue, owner_id) do update set served_at = excluded.served_at
    )
    select * from chosen`);
  const row = result[0];
  return row ? jobFromRow(row) : null;
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
  const { jobs, nodes, nodeQueues } = schema;
  const result = await services.db.execute<Record<string, unknown>>(sql`
    update ${jobs} set ring = ring + 1, rung_at = clock_timestamp()
    where ${inOrderOfId(sql`status = 'queued' and rung_at < clock_timestamp() - ${olderThanMs} * interval '1 millisecond'
      and exists (select 1 from ${nodeQueues} q join ${nodes} n on n.id = q.node_id
        where n.state = 'active' and q.queue = ${jobs.queue} and ${jobs.need} = any(q.needs)
          and q.slots > (select count(*) from ${jobs} r where r.node_id = n.id and r.queue = q.queue and r.status in ('waiting_for_engine', 'processing')))`)}
    returning *`);
  await ring(services, result.map(jobFromRow));
  return result.length;
}

const ringTimeoutMs = 2_000;

/** Sends bells for queued rows after their commit. A failure is only logged: the sweep rings again. */
async function ring({ bells, log }: Pick<Services, "bells" | "log">, jobs: readonly Job[]): Promise<void> {
  const byQueue = Map.groupBy(jobs, (job) => job.queue);
  await Promise.all(
    [...byQueue].map(async ([queue, rows]) => {
      const calls = rows.map(({ id, attempt, ring: number }) => ({ jobId: id, attempt, ring: number }));
      try {
        await withTimeout(bells.ring(queue, calls));
      } catch (error) {
        log.warn({ err: error, queue, jobIds: rows.map((row) => row.id) }, "bell not rung, the sweep will");
      }
    }),
  );
}

async function withTimeout(work: Promise<void>): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const timeout = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(
      () => reject(new Error(`no answer of the queue within ${ringTimeoutMs} ms`)),
      ringTimeoutMs,
    );
  });
  try {
    await Promise.race([work, timeout]);
  } finally {
    clearTimeout(timer);
  }
}
