import { and, eq } from "drizzle-orm";
import { schema, type NodeState } from "../../db/index.ts";
import type { Services } from "../../services/index.ts";
import { readState } from "./read-state.ts";

/**
 * The node takes nothing new until it is resumed; what it runs goes on. Idempotent. Throws `not_found`, and `conflict`
 * when it has ended.
 */
export async function drainNode(
  services: Pick<Services, "db">,
  { id }: { id: string },
): Promise<{ state: NodeState }> {
  const { nodes } = schema;
  // One statement: a node that leaves by itself at this moment must not look as if it could be resumed.
  await services.db
    .update(nodes)
    .set({ state: "draining", drainRequested: true })
    .where(and(eq(nodes.id, id), eq(nodes.state, "active")));
  const { state } = await readState(services, id);
  return { state };
}
