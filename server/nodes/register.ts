import { readFileSync, readlinkSync } from "node:fs";
import os from "node:os";
import { and, desc, eq, inArray, sql } from "drizzle-orm";
import { type NodeCapability, type NodeProblem, schema, type Tx } from "../db/index.ts";
import { type Config, newId } from "../platform/index.ts";
import type { Services } from "../services.ts";
import type { Workflow } from "../workflows/index.ts";
import { type NodeQueue, writeQueues } from "./offer.ts";
import { publishWorkflows } from "./workflows.ts";

export type Node = typeof schema.nodes.$inferSelect;

export interface Registration {
  readonly name: string;
  readonly identity: ProcessIdentity;
  readonly capability: NodeCapability;
  readonly queues: readonly NodeQueue[];
  /** Workflows of an operator's own. */
  readonly workflows?: readonly Workflow[];
  /** What was not taken of the operator's own, and why. */
  readonly problems?: readonly NodeProblem[];
  /** Whether it takes over the settings of the last node of its name; false by default. */
  readonly inherits?: boolean;
  /** The incarnation of this very process that a beat found lost; it is not a predecessor to wait for. */
  readonly replaces?: string;
}

/**
 * Registers one process incarnation. A predecessor of the same name is retired at once only when it ran on this host
 * and its process is gone; otherwise the watch decides about it and the newcomer's name gets a suffix.
 */
export async function register(services: Services, registration: Registration): Promise<Node> {
  const { identity, capability, queues, workflows = [], problems = [] } = registration;
  const node = await services.db.transaction(async (tx) => {
    await tx.execute(sql`select pg_advisory_xact_lock(hashtext('register'), hashtext(${registration.name}))`);
    const name = await freeName(tx, registration);
    const kept = await keptOf(tx, services.config, { ...registration, names: [registration.name, name] });
    const [row] = await tx
      .insert(schema.nodes)
      .values({ id: newId(), name, ...identity, capability, problems, ...kept })
      .returning();
    if (!row) throw new Error("the insert of a node gave no row back");
    await writeQueues(tx, row.id, queues);
    const refused = await publishWorkflows(tx, row.id, workflows);
    if (refused.length === 0) return row;
    const [noted] = await tx
      .update(schema.nodes)
      .set({ problems: [...problems, ...refused] })
      .where(eq(schema.nodes.id, row.id))
      .returning();
    return noted;
  });
  if (!node) throw new Error("the insert of a node gave no row back");
  services.log.info({ nodeId: node.id, node: node.name, queues, problems: node.problems }, "node registered");
  return node;
}

async function freeName(tx: Tx, { name, identity, replaces }: Registration): Promise<string> {
  const { nodes } = schema;
  const live = await tx
    .select()
    .from(nodes)
    .where(
      and(
        inArray(nodes.state, ["active", "draining"]),
        sql`(${nodes.name} = ${name} or ${nodes.name} like ${`${name}-%`})`,
      ),
    );
  const dead = live.filter((node) => node.id === replaces || isGone(node, identity));
  if (dead.length > 0) {
    await tx
      .update(nodes)
      .set({ state: "lost", endedAt: sql`now()` })
      .where(
        inArray(
          nodes.id,
          dead.map((node) => node.id),
        ),
      );
  }
  const taken = new Set(
    live.filter((node) => !dead.includes(node) && node.state === "active").map((node) => node.name),
  );
  if (!taken.has(name)) return name;
  let number = 2;
  while (taken.has(`${name}-${number}`)) number += 1;
  return `${name}-${number}`;
}

function isGone(node: Node, identity: ProcessIdentity): boolean {
  return node.bootId === identity.bootId && pidStartTime(node.pid) !== node.pidStartedAt;
}

interface Heir extends Pick<Registration, "inherits" | "replaces"> {
  /** The name that was asked for, and the one that was given. */
  readonly names: readonly string[];
}

/**
 * Settings hold for the next node of a name; what else admins asked only for the process that was asked. A node that is
 * silent may be a predecessor that nobody has called lost yet; one that beats is a neighbour.
 */
async function keptOf(
  tx: Tx,
  { timing }: Config,
  { names, inherits, replaces }: Heir,
): Promise<Partial<Node>> {
  if (!inherits && !replaces) return {};
  const { nodes } = schema;
  const silence = sql`${timing.lostAfterMs} * interval '1 millisecond'`;
  const isOver = sql`(${nodes.state} <> 'active' or ${nodes.seenAt} < now() - ${silence})`;
  const [before] = await tx
    .select({
      settings: nodes.settings,
      drainRequested: nodes.drainRequested,
      retireRequested: nodes.retireRequested,
    })
    .from(nodes)
    .where(replaces ? eq(nodes.id, replaces) : and(inArray(nodes.name, [...names]), isOver))
    .orderBy(desc(nodes.startedAt))
    .limit(1);
  if (!before) return {};
  if (!replaces) return { settings: before.settings };
  return { ...before, state: before.drainRequested ? "draining" : "active" };
}

/** Tells this process from any other that ever ran: boot of the host, pid, and when that pid was started. */
export interface ProcessIdentity {
  readonly hostname: string;
  readonly bootId: string;
  readonly pid: number;
  readonly pidStartedAt: string;
}

export function ownIdentity(): ProcessIdentity {
  return {
    hostname: os.hostname(),
    bootId: readBootId(),
    pid: process.pid,
    pidStartedAt: pidStartTime(process.pid) ?? String(Date.now()),
  };
}

/** Boot and pid namespace: containers of one host share the boot id, but pid 1 of one is not pid 1 of another. */
function readBootId(): string {
  try {
    const bootId = readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim();
    return `${bootId} ${readlinkSync("/proc/self/ns/pid")}`;
  } catch {
    // Without /proc no predecessor is ever recognised, so the watch decides about it.
    return `${os.hostname()}-${process.pid}-${Date.now()}`;
  }
}

/** Clock ticks since boot at which a pid was started; null when there is no such process or no /proc. */
export function pidStartTime(pid: number): string | null {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    // The command in parentheses may hold spaces; field 22 is counted after it.
    return stat.slice(stat.lastIndexOf(")") + 2).split(" ")[19] ?? null;
  } catch {
    return null;
  }
}
