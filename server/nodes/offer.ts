import { and, eq, notInArray, sql, type SQL } from "drizzle-orm";
import { schema, type Db, type Tx } from "../db/index.ts";
import type { Need } from "../engines/index.ts";

/** A queue that a node subscribes to. */
export interface NodeQueue {
  readonly queue: string;
  /** Jobs at once. */
  readonly slots: number;
  readonly needs: readonly Need[];
}

/** Replaces what a node offers. Needs that it offered before stay known for a while (`pruneNeeds`): what waits for them may go on waiting. */
export async function writeQueues(db: Db | Tx, nodeId: string, queues: readonly NodeQueue[]): Promise<void> {
  const { nodeQueues } = schema;
  for (const { queue, slots, needs } of queues) {
    const own = sql`${sql.param([...needs])}::text[]`;
    const row = {
      nodeId,
      queue,
      slots,
      needs: [...needs],
      seenNeeds: [...needs],
      needsSeenAt: stamped(own),
    };
    await db
      .insert(nodeQueues)
      .values(row)
      .onConflictDoUpdate({
        target: [nodeQueues.nodeId, nodeQueues.queue],
        set: {
          slots,
          needs: [...needs],
          seenNeeds: sql`(select coalesce(array_agg(distinct need), '{}') from unnest(${nodeQueues.seenNeeds} || excluded.needs) as known(need))`,
          needsSeenAt: sql`${nodeQueues.needsSeenAt} || ${stamped(sql`${nodeQueues.needs} || excluded.needs`)}`,
        },
      });
  }
  const names = queues.map(({ queue }) => queue);
  // A queue that is left keeps what it could do, but takes nothing.
  await db
    .update(nodeQueues)
    .set({
      slots: 0,
      needs: [],
      needsSeenAt: sql`${nodeQueues.needsSeenAt} || ${stamped(sql`${nodeQueues.needs}`)}`,
    })
    .where(
      and(eq(nodeQueues.nodeId, nodeId), names.length > 0 ? notInArray(nodeQueues.queue, names) : undefined),
    );
}

/** Both what is offered from now on and what was until now were seen at this moment. */
function stamped(needs: SQL): SQL {
  return sql`(select coalesce(jsonb_object_agg(need, now()), '{}') from unnest(${needs}) as own(need))`;
}
