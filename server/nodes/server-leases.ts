import { and, eq, sql, type SQL } from "drizzle-orm";
import { duration, fromNow, schema } from "../db/index.ts";
import { isFree, isHeldBy, newToken } from "../leases/index.ts";
import type { Services } from "../services.ts";
import { isOrphaned, isPresent } from "./states.ts";

type Input = Pick<Services, "db" | "config">;

/** The use of a server by one run; no other worker may use the server at the same time. */
export interface ServerClaim {
  readonly url: string;
  readonly nodeId: string;
  readonly jobId: string;
  readonly token: string;
}

/** A lease as other workers see it. */
export interface SeenLease {
  readonly url: string;
  readonly nodeId: string;
  readonly token: string;
  /** No worker follows the run any more, but it may still be running on the server. */
  readonly isLost: boolean;
}

/** How a run ended on its server. `lost`: it may still be running there; `given_up`: the time for that has passed. */
export type ServerRunEnd = "over" | "lost" | "given_up";

/** SQL: the time until which the server is reserved. The run of an ended node counts as lost from the end of the node. */
function busyUntil({ config }: Input): SQL {
  const { serverLeases, nodes } = schema;
  const rest = duration(config.timing.lostRunMs);
  return sql`coalesce(${serverLeases.freeAt}, (
    select case when ${isPresent(schema.nodes.state)} then 'infinity'::timestamptz else ${nodes.endedAt} + ${rest} end
    from ${nodes} where ${nodes.id} = ${serverLeases.nodeId}), ${serverLeases.takenAt} + ${rest})`;
}

export const newServerClaim = (claim: Omit<ServerClaim, "token">): ServerClaim => ({
  ...claim,
  token: newToken(),
});

/**
 * Takes the server for one run; of several claims exactly one succeeds, the others return null. `mayBeBusy`: a run was
 * lost there and its time has passed without an answer. A node that is not live gets null.
 */
export async function takeServer(
  input: Input,
  { url, token, nodeId, jobId }: ServerClaim,
): Promise<{ readonly mayBeBusy: boolean } | null> {
  const { serverLeases, nodes } = schema;
  // A replaced row (it has an xmax) belongs to a lost run: all other rows are deleted at the end of their run.
  const result = await input.db.execute<{ mayBeBusy: boolean }>(sql`
    insert into ${serverLeases} (url, token, node_id, job_id)
    select ${url}, ${token}::uuid, ${nodes.id}, ${jobId}::uuid from ${nodes} where ${nodes.id} = ${nodeId} and ${isPresent(schema.nodes.state)}
    on conflict (url) do update
      set token = excluded.token, node_id = excluded.node_id, job_id = excluded.job_id, taken_at = now(), free_at = null
      where ${isFree({ until: busyUntil(input) })}
    returning xmax <> 0 as "mayBeBusy"`);
  return result[0] ?? null;
}

/** Ends a lease, if the claim still holds it. */
export async function endServerLease(
  { db, config }: Input,
  { url, token }: Pick<ServerClaim, "url" | "token">,
  end: ServerRunEnd,
): Promise<void> {
  const { serverLeases } = schema;
  const isOwn = and(eq(serverLeases.url, url), isHeldBy(serverLeases, token));
  if (end === "over") {
    await db.delete(serverLeases).where(isOwn);
    return;
  }
  const restMs = end === "lost" ? config.timing.lostRunMs : 0;
  await db
    .update(serverLeases)
    .set({ freeAt: fromNow(restMs) })
    .where(isOwn);
}

/** The current leases of these servers. */
export async function readServerLeases(input: Input, urls: readonly string[]): Promise<SeenLease[]> {
  if (urls.length === 0) return [];
  const { serverLeases } = schema;
  const result = await input.db.execute<Record<string, unknown> & SeenLease>(sql`
    select url, node_id as "nodeId", token,
      (free_at is not null or ${isOrphaned(serverLeases.nodeId)}) as "isLost"
    from ${serverLeases} where url in ${[...urls]} and not ${isFree({ until: busyUntil(input) })}`);
  return result;
}
