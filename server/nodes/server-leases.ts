import { randomUUID } from "node:crypto";
import { and, eq, sql, type SQL } from "drizzle-orm";
import { schema } from "../db/index.ts";
import type { Services } from "../services.ts";

type Input = Pick<Services, "db" | "config">;

/** One run's use of a server that no other worker may use at the same time. */
export interface ServerClaim {
  readonly url: string;
  readonly nodeId: string;
  readonly jobId: string;
  readonly token: string;
}

/** A lease as the workers of the server see it. */
export interface SeenLease {
  readonly url: string;
  readonly nodeId: string;
  readonly token: string;
  /** A lost run may still be at work: no worker follows it. */
  readonly isLost: boolean;
}

/** How a run ended on its server. `lost`: the server may still work on it; `given_up`: that time has been waited. */
export type ServerRunEnd = "over" | "lost" | "given_up";

/** Until when the row keeps others away. An ended node's run counts as lost at the node's end. */
function busyUntil({ config }: Input): SQL {
  const { serverLeases, nodes } = schema;
  const rest = sql`${config.timing.lostRunMs} * interval '1 millisecond'`;
  return sql`coalesce(${serverLeases.freeAt}, (
    select case when ${isLive} then 'infinity'::timestamptz else ${nodes.endedAt} + ${rest} end
    from ${nodes} where ${nodes.id} = ${serverLeases.nodeId}), ${serverLeases.takenAt} + ${rest})`;
}

const isLive = sql`${schema.nodes.state} in ('active', 'draining')`;

export const newServerClaim = (claim: Omit<ServerClaim, "token">): ServerClaim => ({
  ...claim,
  token: randomUUID(),
});

/**
 * Takes the server for one run; of any number of racers one gets it, the others get null. `mayBeBusy`: a run was lost
 * there, and the time in which it must have ended is over without an answer. A node that is not alive gets nothing.
 */
export async function takeServer(
  input: Input,
  { url, token, nodeId, jobId }: ServerClaim,
): Promise<{ readonly mayBeBusy: boolean } | null> {
  const { serverLeases, nodes } = schema;
  // A row that is replaced (it has an xmax) is one whose run was lost: all others are deleted at their end.
  const result = await input.db.execute<{ mayBeBusy: boolean }>(sql`
    insert into ${serverLeases} (url, token, node_id, job_id)
    select ${url}, ${token}::uuid, ${nodes.id}, ${jobId}::uuid from ${nodes} where ${nodes.id} = ${nodeId} and ${isLive}
    on conflict (url) do update
      set token = excluded.token, node_id = excluded.node_id, job_id = excluded.job_id, taken_at = now(), free_at = null
      where ${busyUntil(input)} <= clock_timestamp()
    returning xmax <> 0 as "mayBeBusy"`);
  return result.rows[0] ?? null;
}

/** Ends a lease, as long as it is still that of the claim. */
export async function endServerLease(
  { db, config }: Input,
  { url, token }: Pick<ServerClaim, "url" | "token">,
  end: ServerRunEnd,
): Promise<void> {
  const { serverLeases } = schema;
  const isOwn = and(eq(serverLeases.url, url), eq(serverLeases.token, token));
  if (end === "over") {
    await db.delete(serverLeases).where(isOwn);
    return;
  }
  const restMs = end === "lost" ? config.timing.lostRunMs : 0;
  const freeAt = sql`clock_timestamp() + ${restMs} * interval '1 millisecond'`;
  await db.update(serverLeases).set({ freeAt }).where(isOwn);
}

/** The leases of the servers that keep others away at this moment. */
export async function readServerLeases(input: Input, urls: readonly string[]): Promise<SeenLease[]> {
  if (urls.length === 0) return [];
  const { serverLeases, nodes } = schema;
  const result = await input.db.execute<Record<string, unknown> & SeenLease>(sql`
    select url, node_id as "nodeId", token,
      (free_at is not null or not exists (select 1 from ${nodes} where ${nodes.id} = node_id and ${isLive})) as "isLost"
    from ${serverLeases} where url in ${[...urls]} and ${busyUntil(input)} > clock_timestamp()`);
  return result.rows;
}
