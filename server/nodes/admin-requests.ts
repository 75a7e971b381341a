import { and, eq, inArray } from "drizzle-orm";
import { z } from "zod";
import { type NodeSettings, type NodeState, schema } from "../db/index.ts";
import { jobKinds } from "../engines.ts";
import { AppError } from "../platform/index.ts";
import type { Services } from "../services.ts";

const { engineServers, nodeQueues, nodes, serverDrains } = schema;

/** What admins want of a node, as its worker reads it every second. */
export interface AdminRequests {
  readonly state: NodeState;
  readonly settings: NodeSettings;
  readonly retireRequested: boolean;
  /** Addresses of servers that are drained. */
  readonly drainedServers: ReadonlySet<string>;
}

/** Null when the node's row is gone. */
export async function readAdminRequests(
  { db }: Pick<Services, "db">,
  nodeId: string,
): Promise<AdminRequests | null> {
  const [[node], drains] = await Promise.all([
    db
      .select({ state: nodes.state, settings: nodes.settings, retireRequested: nodes.retireRequested })
      .from(nodes)
      .where(eq(nodes.id, nodeId)),
    db.select({ url: serverDrains.url }).from(serverDrains),
  ]);
  return node ? { ...node, drainedServers: new Set(drains.map(({ url }) => url)) } : null;
}

/** What an admin may change of a node; what is left out is the node's own choice again. */
export const nodeSettingsSchema = z.strictObject({
  /** Jobs at once by queue; 0 takes none. */
  slots: z.record(z.string().min(1).max(100), z.number().int().min(0).max(64)).optional(),
  kinds: z.array(z.enum(jobKinds)).min(1).optional(),
});

/** Replaces the settings of a live node, which follows within a second or two. Idempotent. Throws `not_found` and `conflict`. */
export async function changeNodeSettings(
  services: Pick<Services, "db">,
  { id, settings }: { id: string; settings: NodeSettings },
): Promise<void> {
  await readState(services, id);
  await services.db
    .update(nodes)
    .set({ settings })
    .where(and(eq(nodes.id, id), inArray(nodes.state, ["active", "draining"])));
}

/**
 * The node takes nothing new until it is resumed; what it runs goes on. Idempotent. Throws `not_found`, and `conflict`
 * when it has ended.
 */
export async function drainNode(
  services: Pick<Services, "db">,
  { id }: { id: string },
): Promise<{ state: NodeState }> {
  // One statement: a node that leaves by itself at this moment must not look as if it could be resumed.
  await services.db
    .update(nodes)
    .set({ state: "draining", drainRequested: true })
    .where(and(eq(nodes.id, id), eq(nodes.state, "active")));
  const { state } = await readState(services, id);
  return { state };
}

/**
 * The node takes jobs again; gives back its queues, whose lines may move now. Idempotent. Throws `not_found`, and
 * `conflict` when it has ended or is about to.
 */
export async function resumeNode(
  services: Pick<Services, "db">,
  { id }: { id: string },
): Promise<{ queues: string[] }> {
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

/** Asks the process of a node to end once its jobs are done. Idempotent, also when it has ended. Throws `not_found`. */
export async function requestStop({ db }: Pick<Services, "db">, { id }: { id: string }): Promise<void> {
  await db
    .update(nodes)
    .set({ retireRequested: true })
    .where(and(eq(nodes.id, id), inArray(nodes.state, ["active", "draining"])));
  const [node] = await db.select({ id: nodes.id }).from(nodes).where(eq(nodes.id, id));
  if (!node) throw new AppError("not_found");
}

/** No node gives the server anything new; what it runs goes on. Idempotent. Throws `not_found` for a server that no node knows. */
export async function drainServer(
  { db }: Pick<Services, "db">,
  { url, adminId }: { url: string; adminId: string },
): Promise<void> {
  const [known] = await db
    .select({ url: engineServers.url })
    .from(engineServers)
    .where(eq(engineServers.url, url))
    .limit(1);
  if (!known) throw new AppError("not_found");
  await db.insert(serverDrains).values({ url, requestedBy: adminId }).onConflictDoNothing();
}

/** The nodes may give the server jobs again. Idempotent. */
export async function resumeServer({ db }: Pick<Services, "db">, { url }: { url: string }): Promise<void> {
  await db.delete(serverDrains).where(eq(serverDrains.url, url));
}

/** The state of a node that has not ended. Throws `not_found` and `conflict`. */
async function readState(
  { db }: Pick<Services, "db">,
  id: string,
): Promise<{ state: NodeState; retireRequested: boolean }> {
  const [node] = await db
    .select({ state: nodes.state, retireRequested: nodes.retireRequested })
    .from(nodes)
    .where(eq(nodes.id, id));
  if (!node) throw new AppError("not_found");
  if (node.state === "lost" || node.state === "gone")
    throw new AppError("conflict", "The node has ended in the meantime.");
  return node;
}
