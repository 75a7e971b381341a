import { and, eq, notInArray, sql } from "drizzle-orm";
import { schema, type Db, type Tx } from "../db/index.ts";

type Row = typeof schema.engineServers.$inferInsert;

/** A server as a node sees it. */
export type SeenServer = Omit<Row, "nodeId" | "changedAt">;

/** Replaces what is known of a node's servers; one that it no longer knows is removed. */
export async function writeServers(
  db: Db | Tx,
  nodeId: string,
  servers: readonly SeenServer[],
): Promise<void> {
  const { engineServers } = schema;
  const urls = servers.map(({ url }) => url);
  const isGone = urls.length > 0 ? notInArray(engineServers.url, urls) : undefined;
  await db.delete(engineServers).where(and(eq(engineServers.nodeId, nodeId), isGone));
  for (const server of servers) {
    const { url: _url, ...changes } = server;
    await db
      .insert(engineServers)
      .values({ ...server, nodeId })
      .onConflictDoUpdate({
        target: [engineServers.nodeId, engineServers.url],
        set: {
          ...changes,
          changedAt: sql`case when ${engineServers.state} = excluded.state then ${engineServers.changedAt} else now() end`,
        },
      });
  }
}
