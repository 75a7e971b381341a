import { eq } from "drizzle-orm";
import { schema, type NodeCapability } from "../db/index.ts";
import type { Services } from "../services/index.ts";
import { writeQueues, type NodeQueue } from "./write-queues.ts";

export interface OfferChange {
  readonly nodeId: string;
  readonly capability: NodeCapability;
  readonly queues: readonly NodeQueue[];
}

/** A node's servers or settings changed while it runs. */
export async function changeQueues({ db }: Pick<Services, "db">, change: OfferChange): Promise<void> {
  const { nodeId, capability, queues } = change;
  await db.transaction(async (tx) => {
    await tx.update(schema.nodes).set({ capability }).where(eq(schema.nodes.id, nodeId));
    await writeQueues(tx, nodeId, queues);
  });
}
