import { eq } from "drizzle-orm";
import { schema, type NodeProblem } from "../db/index.ts";
import type { Services } from "../services/index.ts";
import type { Workflow } from "../workflows/index.ts";
import { publishWorkflows } from "./workflows.ts";

/**
 * Tries those of a node's own workflows again that were refused: whoever published another under the name may be gone.
 * Returns what is still not taken of the operator's own.
 */
export async function publishRefused(
  { db }: Pick<Services, "db">,
  nodeId: string,
  own: readonly Workflow[],
): Promise<readonly NodeProblem[]> {
  const { nodes } = schema;
  return db.transaction(async (tx) => {
    const [node] = await tx.select({ problems: nodes.problems }).from(nodes).where(eq(nodes.id, nodeId));
    const before = node?.problems ?? [];
    const refused = own.filter(({ name }) => before.some(({ what }) => what === name));
    if (refused.length === 0) return before;
    const still = await publishWorkflows(tx, nodeId, refused);
    const others = before.filter(({ what }) => !refused.some(({ name }) => name === what));
    const problems = [...others, ...still];
    await tx.update(nodes).set({ problems }).where(eq(nodes.id, nodeId));
    return problems;
  });
}
