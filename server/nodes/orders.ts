import { and, eq } from "drizzle-orm";
import { schema } from "../db/index.ts";
import { AppError } from "../platform/index.ts";
import type { Services } from "../services/index.ts";
import { readState } from "./admin/read-state.ts";

/**
 * The node takes jobs again; gives back its queues, whose lines may move now. Idempotent. Throws `not_found`, and
 * `conflict` when it has ended or is about to.
 */
export async function resumeNode(
  services: Pick<Services, "db">,
  { id }: { id: string },
): Promise<{ queues: string[] }> {
  const { nodes, nodeQueues } = schema;
  // Only a drain that an admin asked for: a node that leaves has closed its doors already.
  await services.db
    .update(nodes)
    .set({ state: "active", drainRequested: false })
    .where(
      and(
        eq(nodes.id, id),
        eq(nodes.state, "draining"),
        eq(nodes.drainRequested, true),
        eq(nodes.retireRequested, false),
      ),
    );
  const { state } = await readState(services, id);
  if (state !== "active") throw new AppError("conflict", "The node is about to end and cannot be resumed.");
  const rows = await services.db
    .select({ queue: nodeQueues.queue })
    .from(nodeQueues)
    .where(eq(nodeQueues.nodeId, id));
  return { queues: rows.map(({ queue }) => queue) };
}
