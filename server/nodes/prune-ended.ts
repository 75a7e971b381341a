import { and, inArray, sql } from "drizzle-orm";
import { schema } from "../db/index.ts";
import type { Services } from "../services/index.ts";

/** Forgets incarnations that ended long ago; jobs that they ran stay, without the name of their node. */
export async function pruneEnded({ db, config }: Pick<Services, "db" | "config">): Promise<void> {
  const { nodes } = schema;
  const age = sql`${config.retention.nodesMs} * interval '1 millisecond'`;
  await db
    .delete(nodes)
    .where(and(inArray(nodes.state, ["lost", "gone"]), sql`${nodes.endedAt} < now() - ${age}`));
}
