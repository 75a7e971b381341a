import { and, eq, getTableColumns, notInArray, sql, type SQL } from "drizzle-orm";
import { type Db, type NodeCapability, schema, type Tx } from "../db/index.ts";
import type { Need } from "../engines.ts";
import type { Services } from "../services.ts";

/** A queue that a node subscribes to. */
export interface NodeQueue {
  readonly queue: string;
  /** Jobs at once. */
  readonly slots: number;
  readonly needs: readonly Need[];
}

/** Replaces what a node offers. Needs that it offered before stay known for a while (`pruneNeeds`): what waits for them may go on waiting. */
export async function writeQueues(db: Db | Tx, nodeId: string, queues: readonly NodeQueue[]): Promise<void> {
  const { nodeQueues } = schema;
  for (const { queue, slots, needs } of queues) {
    const own = sql`${sql.param([...needs])}::text[]`;
    const row = {
      nodeId,
      queue,
      slots,
      needs: [...needs],
      seenNeeds: [...needs],
      needsSeenAt: stamped(own),
    };
    await db
      .insert(nodeQueues)
      .values(row)
      .onConflictDoUpdate({
        target: [nodeQueues.nodeId, nodeQueues.queue],
        set: {
          slots,
          needs: [...needs],
          seenNeeds: sql`(select coalesce(array_agg(distinct need), '{}') from unnest(${nodeQueues.seenNeeds} || excluded.needs) as known(need))`,
          needsSeenAt: sql`${nodeQueues.needsSeenAt} || ${stamped(sql`${nodeQueues.needs} || excluded.needs`)}`,
        },
      });
  }
  const names = queues.map(({ queue }) => queue);
  // A queue that is left keeps what it could do, but takes nothing.
  await db
    .update(nodeQueues)
    .set({
      slots: 0,
      needs: [],
      needsSeenAt: sql`${nodeQueues.needsSeenAt} || ${stamped(sql`${nodeQueues.needs}`)}`,
    })
    .where(
      and(eq(nodeQueues.nodeId, nodeId), names.length > 0 ? notInArray(nodeQueues.queue, names) : undefined),
    );
}

/** Both what is offered from now on and what was until now were seen at this moment. */
function stamped(needs: SQL): SQL {
  return sql`(select coalesce(jsonb_object_agg(need, now()), '{}') from unnest(${needs}) as own(need))`;
}

type Row = typeof schema.engineServers.$inferInsert;

/** A server as a node sees it. */
export type SeenServer = Omit<Row, "nodeId" | "changedAt">;

const { engineServers } = schema;
const { nodeId: _node, url: _url, changedAt: _changed, ...columns } = getTableColumns(engineServers);
const seenColumns = Object.entries(columns);
const excluded = (column: { readonly name: string }) => sql`excluded.${sql.identifier(column.name)}`;

/** Replaces what is known of a node's servers, in one statement that touches only rows that differ. */
async function writeServers(db: Db | Tx, nodeId: string, servers: readonly SeenServer[]): Promise<void> {
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

/** Forgets what a node could serve once but not for 24 hours: a server that was taken away under a running worker. */
export async function pruneNeeds({ db }: Pick<Services, "db">): Promise<void> {
  const { nodeQueues } = schema;
  const seenAt = sql`(${nodeQueues.needsSeenAt} ->> need)::timestamptz`;
  const isPast = sql`need <> all(${nodeQueues.needs}) and ${seenAt} < now() - interval '24 hours'`;
  await db.execute(sql`
    update ${nodeQueues} set
      seen_needs = array(select need from unnest(${nodeQueues.seenNeeds}) as s(need) where (${isPast}) is not true),
      needs_seen_at = ${nodeQueues.needsSeenAt} - array(select need from unnest(${nodeQueues.seenNeeds}) as s(need) where ${isPast})
    where exists (select 1 from unnest(${nodeQueues.seenNeeds}) as s(need) where ${isPast})`);
}
