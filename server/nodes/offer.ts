import { and, eq, getTableColumns, notInArray, sql, type SQL } from "drizzle-orm";
import { type Db, type NodeCapability, schema, type Tx } from "../db/index.ts";
import type { Need } from "../engines.ts";
import type { Services } from "../services.ts";
import { hasEnded } from "./states.ts";

/** A queue that a node subscribes to. */
export interface NodeQueue {
  readonly queue: string;
  /** Simultaneous jobs. */
  readonly slots: number;
  readonly needs: readonly Need[];
}

/** Replaces the offer of a node. Earlier needs stay known until `pruneNeeds`, so that jobs may wait for them. */
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
  // A queue that is no longer offered keeps its seen needs, but has no slots.
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

/** Marks needs as seen now: those of the new offer, and those of the offer that ends now. */
function stamped(needs: SQL): SQL {
  return sql`(select coalesce(jsonb_object_agg(need, now()), '{}') from unnest(${needs}) as own(need))`;
}

type Row = typeof schema.engineServers.$inferInsert;

/** A server as a node sees it. */
export type SeenServer = Omit<Row, "nodeId" | "changedAt">;

/** Of a server that lists more LoRAs or checkpoints the first are stored; whether it has another one, it says itself. */
export const keptListed = 20_000;

const { engineServers } = schema;
const { nodeId: _node, url: _url, changedAt: _changed, ...columns } = getTableColumns(engineServers);
const seenColumns = Object.entries(columns);
const excluded = (column: { readonly name: string }) => sql`excluded.${sql.identifier(column.name)}`;

/** Replaces the servers of a node in one statement, which writes only rows that differ. */
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
  /** Missing when the offer has not changed. */
  readonly offer?: { readonly capability: NodeCapability; readonly queues: readonly NodeQueue[] };
}

/**
 * Stores changed servers and the changed offer of a running node. In one transaction: a server must not appear healthy
 * before jobs can be placed on it, nor away while they still can.
 */
export async function changeNode({ db }: Pick<Services, "db">, change: NodeChange): Promise<void> {
  const { nodeId, servers, offer } = change;
  if (!offer) return writeServers(db, nodeId, servers);
  await db.transaction(async (tx) => {
    await writeServers(tx, nodeId, servers);
    await writeQueues(tx, nodeId, offer.queues);
    // Last, since the beat of the node waits for the lock on its row.
    await tx.update(schema.nodes).set({ capability: offer.capability }).where(eq(schema.nodes.id, nodeId));
  });
}

/** So many of the newest workers of a queue keep what they offered, for each need. */
const keptOffers = 5;

/**
 * Removes what workers offered that ended a day ago, but for the newest of each need: where each start is a new worker, the
 * rows that placing reads would grow with the starts. The workers themselves stay, for the stories of their jobs.
 */
export async function pruneOffers({ db }: Pick<Services, "db">): Promise<void> {
  const { nodeQueues, nodes } = schema;
  await db.execute(sql`
    with ended as materialized (
      -- Not one that registers at this moment.
      select n.id from ${nodes} n where ${hasEnded()} and n.seen_at < now() - interval '24 hours' for update skip locked
    ), ranked as (
      select q.node_id, q.queue,
        row_number() over (partition by q.queue, s.need order by n.seen_at desc, n.id desc) as place
      from ${nodeQueues} q join ${nodes} n on n.id = q.node_id, unnest(q.seen_needs) as s(need)
    )
    delete from ${nodeQueues} q using ended e where e.id = q.node_id and not exists (
      select 1 from ranked r where r.node_id = q.node_id and r.queue = q.queue and r.place <= ${keptOffers})`);
}

/**
 * Removes seen needs that a node has not offered for 24 hours, e.g. of a removed server. Those of a queue that is started on
 * demand stay with its node.
 */
export async function pruneNeeds({ db, config }: Pick<Services, "db" | "config">): Promise<void> {
  const { nodeQueues } = schema;
  const started = Object.keys(config.queues).filter((queue) => config.queues[queue]?.onDemand);
  const mayForget = started.length > 0 ? sql`${nodeQueues.queue} not in ${started}` : sql`true`;
  const seenAt = sql`(${nodeQueues.needsSeenAt} ->> need)::timestamptz`;
  const isOver = sql`exists (select 1 from ${schema.nodes} n
    where n.id = ${nodeQueues.nodeId} and ${hasEnded()} and n.seen_at < now() - interval '24 hours')`;
  const isPast = sql`(need <> all(${nodeQueues.needs}) and ${seenAt} < now() - interval '24 hours' or ${isOver})`;
  await db.execute(sql`
    update ${nodeQueues} set
      seen_needs = array(select need from unnest(${nodeQueues.seenNeeds}) as s(need) where (${isPast}) is not true),
      needs_seen_at = ${nodeQueues.needsSeenAt} - array(select need from unnest(${nodeQueues.seenNeeds}) as s(need) where ${isPast})
    where ${mayForget} and exists (select 1 from unnest(${nodeQueues.seenNeeds}) as s(need) where ${isPast})`);
}
