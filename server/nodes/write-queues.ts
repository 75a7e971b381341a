import { and, eq, notInArray, sql } from "drizzle-orm";
import { schema, type Db, type Tx } from "../db/index.ts";
import type { Need } from "../engines/index.ts";

/** A queue that a node subscribes to. */
export interface NodeQueue {
  readonly queue: string;
  /** Jobs at once. */
  readonly slots: number;
  readonly needs: readonly Need[];
}

/** Replaces what a node offers. Needs that it offered before stay known: what waits for them may go on waiting. */
export async function writeQueues(db: Db | Tx, nodeId: string, queues: readonly NodeQueue[]): Promise<void> {
  const { nodeQueues } = schema;
  for (const { queue, slots, needs } of queues) {
    const row = { nodeId, queue, slots, needs: [...needs], seenNeeds: [...needs] };
    await db
      .insert(nodeQueues)
      .values(row)
      .onConflictDoUpdate({
        target: [nodeQueues.nodeId, nodeQueues.queue],
        set: {
          slots,
          needs: [...needs],
          seenNeeds: sql`(select coalesce(array_agg(distinct need), '{}') from unnest(${nodeQueues.seenNeeds} || excluded.needs) as known(need))`,
        },
      });
  }
  const names = queues.map(({ queue }) => queue);
  // A queue that is left keeps what it could do, but takes nothing.
  await db
    .update(nodeQueues)
    .set({ slots: 0, needs: [] })
    .where(
      and(eq(nodeQueues.nodeId, nodeId), names.length > 0 ? notInArray(nodeQueues.queue, names) : undefined),
    );
}
