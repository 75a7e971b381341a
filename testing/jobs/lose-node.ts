import { schema } from "@atelier/server/db";
import type { Services } from "@atelier/server/services";
import { eq, sql } from "drizzle-orm";

/** Has a node be lost since so long ago, as the others see it after its process was killed. */
export async function loseNode(
  { db }: Pick<Services, "db">,
  { nodeId, agoMs }: { nodeId: string; agoMs: number },
): Promise<void> {
  const { nodes } = schema;
  const endedAt = sql`clock_timestamp() - ${agoMs} * interval '1 millisecond'`;
  await db.update(nodes).set({ state: "lost", endedAt }).where(eq(nodes.id, nodeId));
}
