import { eq } from "drizzle-orm";
import { schema, type NodeCapability } from "../db/index.ts";
import type { Services } from "../services/index.ts";
import { writeQueues, type NodeQueue } from "./offer.ts";
import { writeServers, type SeenServer } from "./write-servers.ts";

export interface NodeChange {
  readonly nodeId: string;
  readonly servers: readonly SeenServer[];
  /** Left out when it is the one told last. */
  readonly offer?: { readonly capability: NodeCapability; readonly queues: readonly NodeQueue[] };
}

/**
 * A node's servers or settings changed while it runs. All at once: a server must not be seen healthy before jobs can be
 * placed on it, nor away while they still can.
 */
export async function changeNode({ db }: Pick<Services, "db">, change: NodeChange): Promise<void> {
  const { nodeId, servers, offer } = change;
  if (!offer) return writeServers(db, nodeId, servers);
  await db.transaction(async (tx) => {
    await writeServers(tx, nodeId, servers);
    await writeQueues(tx, nodeId, offer.queues);
    // Last, since the node's beat waits for whoever holds its row.
    await tx.update(schema.nodes).set({ capability: offer.capability }).where(eq(schema.nodes.id, nodeId));
  });
}
