import { and, eq, getTableColumns, notInArray, sql, type SQL } from "drizzle-orm";
import { schema, type Db, type Tx } from "../db/index.ts";

type Row = typeof schema.engineServers.$inferInsert;

/** A server as a node sees it. */
export type SeenServer = Omit<Row, "nodeId" | "changedAt">;

const { engineServers } = schema;
const { nodeId: _node, url: _url, changedAt: _changed, ...columns } = getTableColumns(engineServers);
const seenColumns = Object.entries(columns);
const excluded = (column: { readonly name: string }) => sql`excluded.${sql.identifier(column.name)}`;

/** Replaces what is known of a node's servers, in one statement that touches only rows that differ. */
export async function writeServers(
  db: Db | Tx,
  nodeId: string,
  servers: readonly SeenServer[],
): Promise<void> {
  const urls = servers.map(({ url }) => url);
  const isGone = urls.length > 0 ? notInArray(engineServers.url, urls) : undefined;
  const removal = db.delete(engineServers).where(and(eq(engineServers.nodeId, nodeId), isGone));
  if (servers.length === 0) await removal;
  else await db.execute(sql`with removed as (${removal.getSQL()}) ${upsert(db, nodeId, servers)}`);
}

function upsert(db: Db | Tx, nodeId: string, servers: readonly SeenServer[]): SQL {
  const { state, changedAt } = engineServers;
  const known = sql.join(
    seenColumns.map(([, column]) => sql`${column}`),
    sql`, `,
  );
  const seen = sql.join(
    seenColumns.map(([, column]) => excluded(column)),
    sql`, `,
  );
  return db
    .insert(engineServers)
    .values(servers.map((server) => ({ ...server, nodeId })))
    .onConflictDoUpdate({
      target: [engineServers.nodeId, engineServers.url],
      set: {
        ...Object.fromEntries(seenColumns.map(([key, column]) => [key, excluded(column)])),
        changedAt: sql`case when ${state} = excluded.state then ${changedAt} else now() end`,
      },
      setWhere: sql`(${known}) is distinct from (${seen})`,
    })
    .getSQL();
}
