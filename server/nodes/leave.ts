import { and, eq, inArray, sql } from "drizzle-orm";
import { schema } from "../db/index.ts";
import type { Services } from "../services/index.ts";

const { nodes } = schema;

/** The node takes nothing new but keeps beating until its jobs are done; no admin can resume it any more. */
export async function drain({ db }: Pick<Services, "db">, nodeId: string): Promise<void> {
  await db
    .update(nodes)
    .set({ state: "draining", drainRequested: false })
    .where(and(eq(nodes.id, nodeId), inArray(nodes.state, ["active", "draining"])));
}

/** The last word of a node that stops in order. */
export async function retire({ db }: Pick<Services, "db">, nodeId: string): Promise<void> {
  await db
    .update(nodes)
    .set({ state: "gone", endedAt: sql`now()` })
    .where(and(eq(nodes.id, nodeId), inArray(nodes.state, ["active", "draining"])));
}

/** Adds one ended run to the figures of a node. */
export async function countRun(
  { db }: Pick<Services, "db">,
  input: { nodeId: string; failed: boolean },
): Promise<void> {
  const change = input.failed
    ? { failed: sql`${nodes.failed} + 1` }
    : { processed: sql`${nodes.processed} + 1` };
  await db.update(nodes).set(change).where(eq(nodes.id, input.nodeId));
}
