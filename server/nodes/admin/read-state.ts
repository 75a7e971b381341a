import { eq } from "drizzle-orm";
import { schema, type NodeState } from "../../db/index.ts";
import { AppError } from "../../platform/index.ts";
import type { Services } from "../../services/index.ts";

/** The state of a node that has not ended. Throws `not_found` and `conflict`. */
export async function readState(
  { db }: Pick<Services, "db">,
  id: string,
): Promise<{ state: NodeState; retireRequested: boolean }> {
  const { nodes } = schema;
  const [node] = await db
    .select({ state: nodes.state, retireRequested: nodes.retireRequested })
    .from(nodes)
    .where(eq(nodes.id, id));
  if (!node) throw new AppError("not_found");
  if (node.state === "lost" || node.state === "gone")
    throw new AppError("conflict", "The node has ended in the meantime.");
  return node;
}
