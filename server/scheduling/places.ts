import { sql } from "drizzle-orm";
import { schema, type Db, type Tx } from "../db/index.ts";
import type { Need } from "../engines/index.ts";
import { expectedRunMs } from "./expected-run.ts";

/** A need on a queue, with what stands before a newcomer there. */
export interface Place {
  readonly queue: string;
  readonly need: Need;
  /** Live slots that can serve the need now; 0 when only nodes of the last 24 hours could. */
  readonly slots: number;
  /** Expected run time of all open jobs of the queue, ms. */
  readonly workMs: number;
  readonly waiting: number;
}

const knownForHours = 24;

/** Where any of these needs can be served, now or by a node seen in the last 24 hours. */
export async function readPlaces(db: Db | Tx, needs: readonly Need[]): Promise<Place[]> {
  if (needs.length === 0) return [];
  const { jobs, nodes, nodeQueues } = schema;
  const result = await db.execute<Record<keyof Place, string>>(sql`
    with offered as (
      select q.queue, w.need,
        coalesce(sum(q.slots) filter (where n.state = 'active' and w.need = any(q.needs)), 0)::int as slots
      from unnest(array[${sql.join(
        needs.map((need) => sql`${need}`),
        sql`, `,
      )}]::text[]) as w(need)
      join ${nodeQueues} q on w.need = any(q.seen_needs) or w.need = any(q.needs)
      join ${nodes} n on n.id = q.node_id
      where n.state = 'active' or n.seen_at > now() - make_interval(hours => ${knownForHours})
      group by q.queue, w.need
    ), lines as (
      select j.queue, j.need, count(*) as open, count(*) filter (where j.status = 'pending') as pending from ${jobs} j
      where j.queue in (select queue from offered) and j.status in ('pending', 'queued', 'waiting_for_engine', 'processing')
      group by j.queue, j.need
    ), costs as (
      select queue, sum(open * ${expectedRunMs(sql`lines.need`)}) as work_ms, sum(pending) as waiting from lines group by queue
    )
    select o.queue, o.need, o.slots, coalesce(c.work_ms, 0)::float8 as "workMs", coalesce(c.waiting, 0)::int as waiting
    from offered o left join costs c on c.queue = o.queue`);
  return result.rows.map((row) => ({
    queue: row.queue,
    need: row.need as Need,
    slots: Number(row.slots),
    workMs: Number(row.workMs),
    waiting: Number(row.waiting),
  }));
}

/** One need on one queue that live nodes can serve now. */
export type LivePlace = Pick<Place, "queue" | "need" | "slots">;

/** Everything that live nodes can serve now. */
export async function livePlaces(db: Db | Tx): Promise<LivePlace[]> {
  const { nodes, nodeQueues } = schema;
  const result = await db.execute<{ queue: string; need: Need; slots: number }>(sql`
    select q.queue, s.need, sum(q.slots)::int as slots
    from ${nodeQueues} q join ${nodes} n on n.id = q.node_id, unnest(q.needs) as s(need)
    where n.state = 'active'
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
