import { sql } from "drizzle-orm";
import { schema, type Db, type Tx } from "../db/index.ts";
import type { JobKind } from "../engines/index.ts";

/** One kind of job on one queue: how many live slots can run it. */
export interface Places {
  readonly queue: string;
  readonly kind: JobKind;
  readonly slots: number;
}

/** Where live nodes can run what, from their registrations. */
export async function livePlaces(db: Db | Tx): Promise<Places[]> {
  const result = await db.execute<{ queue: string; kind: JobKind; slots: number }>(sql`
    select q.queue, k.kind, sum(n.slots)::int as slots
    from ${schema.nodes} n, unnest(n.queues) as q(queue), jsonb_array_elements_text(n.capability -> 'kinds') as k(kind)
    where n.state = 'active'
    group by q.queue, k.kind`);
  return result.rows;
}
