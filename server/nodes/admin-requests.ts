import { and, eq } from "drizzle-orm";
import { z } from "zod";
import { type NodeSettings, type NodeState, schema } from "../db/index.ts";
import { jobKinds } from "../engines.ts";
import { AppError } from "../platform/index.ts";
import type { Services } from "../services.ts";
import { isActive, isPresent, isPresentState } from "./states.ts";

const { engineServers, nodeQueues, nodes, serverDrains } = schema;

/** The requests of admins to a node; its worker reads them every second. */
export interface AdminRequests {
  readonly state: NodeState;
  readonly settings: NodeSettings;
  readonly retireRequested: boolean;
  /** Addresses of servers that are drained. */
  readonly drainedServers: ReadonlySet<string>;
}

/** Null when the row of the node was removed. */
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

/** Settings that an admin may change; a missing entry restores the node's own value. */
export const nodeSettingsSchema = z.strictObject({
  /** Simultaneous jobs by queue; 0 takes none. */
  slots: z.record(z.string().min(1).max(100), z.number().int().min(0).max(64)).optional(),
  kinds: z.array(z.enum(jobKinds)).min(1).optional(),
});

/** Replaces the settings of a live node, which applies them in seconds. Idempotent. Throws `not_found`, `conflict`. */
export async function changeNodeSettings(
  services: Pick<Services, "db">,
  { id, settings }: { id: string; settings: NodeSettings },
): Promise<void> {
  await readState(services, id);
  await services.db
    .update(nodes)
    .set({ settings })
    .where(and(eq(nodes.id, id), isPresent(nodes.state)));
}

/**
 * The node takes no new jobs until it is resumed; its runs continue. Idempotent. Throws `not_found`, and `conflict` when
 * it has ended.
 */
export async function drainNode(
  services: Pick<Services, "db">,
  { id }: { id: string },
): Promise<{ state: NodeState }> {
  // One statement: a node that closes its doors at this moment must not become resumable.
  await services.db
    .update(nodes)
    .set({ state: "draining", drainRequested: true })
    .where(and(eq(nodes.id, id), isActive(nodes.state)));
  const { state } = await readState(services, id);
  return { state };
}

/**
 * Ends `drainNode`; returns the queues of the node, which can be dispatched now. Idempotent. Throws `not_found`, and
 * `conflict` when the node has ended or is ending.
 */
export async function resumeNode(
  services: Pick<Services, "db">,
  { id }: { id: string },
): Promise<{ queues: string[] }> {
  // Only a drain by an admin ends here: a process that closed its doors is ending.
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

/** Requests that the process of a node ends after its jobs. Idempotent, also when it has ended. Throws `not_found`. */
export async function requestStop({ db }: Pick<Services, "db">, { id }: { id: string }): Promise<void> {
  await db
    .update(nodes)
    .set({ retireRequested: true })
    .where(and(eq(nodes.id, id), isPresent(nodes.state)));
  const [node] = await db.select({ id: nodes.id }).from(nodes).where(eq(nodes.id, id));
  if (!node) throw new AppError("not_found");
}

/** No node gives the server new jobs; its runs continue. Idempotent. Throws `not_found` for an unknown server. */
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

/** Ends `drainServer`. Idempotent. */
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
  if (!isPresentState(node.state)) throw new AppError("conflict", "The node has ended in the meantime.");
  return node;
}
