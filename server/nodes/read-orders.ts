import { eq } from "drizzle-orm";
import { schema, type NodeSettings, type NodeState } from "../db/index.ts";
import type { Services } from "../services/index.ts";

/** What admins want of a node, as its worker reads it every second. */
export interface NodeOrders {
  readonly state: NodeState;
  readonly settings: NodeSettings;
  readonly retireRequested: boolean;
  /** Addresses of servers that are drained. */
  readonly drainedServers: ReadonlySet<string>;
}

/** Null when the node's row is gone. */
export async function readOrders({ db }: Pick<Services, "db">, nodeId: string): Promise<NodeOrders | null> {
  const { nodes, serverDrains } = schema;
  const [[node], drains] = await Promise.all([
    db
      .select({ state: nodes.state, settings: nodes.settings, retireRequested: nodes.retireRequested })
      .from(nodes)
      .where(eq(nodes.id, nodeId)),
    db.select({ url: serverDrains.url }).from(serverDrains),
  ]);
  return node ? { ...node, drainedServers: new Set(drains.map(({ url }) => url)) } : null;
}
