import { sql } from "drizzle-orm";
import { schema, type Db, type Tx } from "../db/index.ts";
import type { Need } from "../engines/index.ts";
import { readRunCosts } from "./run-costs.ts";

/** A need on a queue, with what stands before a newcomer there. */
export interface Place {
  readonly queue: string;
  readonly need: Need;
  /** Live slots that can serve the need now; 0 when only nodes of the last 24 hours could. */
  readonly slots: number;
  /** Expected run time of all open jobs of the queue, ms. */
  readonly workMs: number;
  /** Expected run time of one job of the need, ms, wherever its past runs were. */
  readonly runMs: number;
  readonly waiting: number;
}

const knownForHours = 24;

/**
 * Where any of these needs can be served, now or by a node seen in the last 24 hours. Not for use inside a transaction:
 * it takes a connection.
 */
export async function readPlaces(db: Db, needs: readonly Need[]): Promise<Place[]> {
  if (needs.length === 0) return [];
  const rows = await readOffered(db, needs);
  const costs = await readRunCosts(
    db,
    rows.flatMap(({ need, line }) => [need, ...line.map((one) => one.need)]),
  );
  return rows.map(({ queue, need, slots, line }) => ({
    queue,
    need,
    slots,
    workMs: line.reduce((sum, one) => sum + one.open * costs(one.need).meanMs, 0),
    runMs: costs(need).meanMs,
    waiting: line.reduce((sum, one) => sum + one.pending, 0),
  }));
}

interface Offered extends Record<string, unknown> {
  readonly queue: string;
  readonly need: Need;
  readonly slots: number;
  /** Open jobs of the queue by need. */
  readonly line: readonly { readonly need: string; readonly open: number; readonly pending: number }[];
}

async function readOffered(db: Db, needs: readonly Need[]): Promise<Offered[]> {
  const { jobs, nodes, nodeQueues } = schema;
  const wanted = sql.join(
    needs.map((need) => sql`${need}`),
    sql`, `,
  );
  const result = await db.execute<Offered>(sql`
    with offered as (
      select q.queue, w.need,
        coalesce(sum(q.slots) filter (where n.state = 'active' and w.need = any(q.needs)), 0)::int as slots
      from unnest(array[${wanted}]::text[]) as w(need)
      join ${nodeQueues} q on w.need = any(q.seen_needs) or w.need = any(q.needs)
      join ${nodes} n on n.id = q.node_id
      where n.state = 'active' or n.seen_at > now() - make_interval(hours => ${knownForHours})
      group by q.queue, w.need
    ), lines as (
      select j.queue, j.need, count(*) as open, count(*) filter (where j.status = 'pending') as pending from ${jobs} j
      where j.queue in (select queue from offered) and j.status in ('pending', 'queued', 'waiting_for_engine', 'processing')
      group by j.queue, j.need
    )
    select o.queue, o.need, o.slots,
      (select coalesce(json_agg(l), '[]') from lines l where l.queue = o.queue) as line
    from offered o`);
  return result.rows;
}

/** One need on one queue that live nodes can serve now. */
export type LivePlace = Pick<Place, "queue" | "need" | "slots">;

/** Everything that live nodes can serve now. */
export async function livePlaces(db: Db | Tx): Promise<LivePlace[]> {
  const { nodes, nodeQueues } = schema;
  const result = await db.execute<{ queue: string; need: Need; slots: number }>(sql`
    select q.queue, s.need, sum(q.slots)::int as slots
    from ${nodeQueues} q join ${nodes} n on n.id = q.node_id, unnest(q.needs) as s(need)
    where n.state = 'active' and q.slots > 0
    group by q.queue, s.need`);
  return result.rows;
}

/** Needs that nodes of the last 24 hours could serve. */
export async function seenNeeds(db: Db | Tx): Promise<Need[]> {
  const { nodes, nodeQueues } = schema;
  const result = await db.execute<{ need: Need }>(sql`
    select distinct s.need from ${nodeQueues} q join ${nodes} n on n.id = q.node_id, unnest(q.seen_needs) as s(need)
    where n.state = 'active' or n.seen_at > now() - make_interval(hours => ${knownForHours})`);
  return result.rows.map(({ need }) => need);
}
