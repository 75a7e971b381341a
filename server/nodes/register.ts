import { randomUUID } from "node:crypto";
import { readFileSync, readlinkSync } from "node:fs";
import os from "node:os";
import { and, desc, eq, inArray, sql } from "drizzle-orm";
import { duration, lockTopic, type NodeCapability, type NodeProblem, schema, type Tx } from "../db/index.ts";
import { type Config, newId } from "../platform/index.ts";
import type { Services } from "../services.ts";
import type { Workflow } from "../workflows/index.ts";
import { type NodeQueue, writeQueues } from "./offer.ts";
import { isPresent } from "./states.ts";
import { publishWorkflows } from "./workflows.ts";

export type Node = typeof schema.nodes.$inferSelect;

export interface Registration {
  readonly name: string;
  readonly identity: ProcessIdentity;
  readonly capability: NodeCapability;
  readonly queues: readonly NodeQueue[];
  /** The operator's own workflows. */
  readonly workflows?: readonly Workflow[];
  /** Workflows of the operator that were refused, with the reason. */
  readonly problems?: readonly NodeProblem[];
  /** The node inherits the settings of the last node of its name; false by default. */
  readonly inherits?: boolean;
  /** The earlier incarnation of this process, which was declared lost; its settings and requests are inherited. */
  readonly replaces?: string;
}

/**
 * Registers one process incarnation. A predecessor of the same name is declared lost at once only when it ran on this
 * host and its process has ended; otherwise that is left to the watch, and the new node gets a name with a suffix.
 */
export async function register(services: Services, registration: Registration): Promise<Node> {
  const { identity, capability, queues, workflows = [], problems = [] } = registration;
  const node = await services.db.transaction(async (tx) => {
    await lockTopic(tx, "register", registration.name);
    const name = await freeName(tx, registration);
    const kept = await keptOf(tx, services.config, { ...registration, names: [registration.name, name] });
    const [row] = await tx
      .insert(schema.nodes)
      .values({ id: newId(), name, ...identity, capability, problems, ...kept })
      .returning();
    if (!row) throw new Error("the insert of a node returned no row");
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
  if (!node) throw new Error("the insert of a node returned no row");
  services.log.info({ nodeId: node.id, node: node.name, queues, problems: node.problems }, "node registered");
  return node;
}

async function freeName(tx: Tx, { name, identity, replaces }: Registration): Promise<string> {
  const { nodes } = schema;
  const live = await tx
    .select()
    .from(nodes)
    .where(and(isPresent(nodes.state), sql`(${nodes.name} = ${name} or ${nodes.name} like ${`${name}-%`})`));
  const dead = live.filter((node) => node.id === replaces || isProcessOver(node, identity));
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

/**
 * Whether a process that this one would see has ended. False for those of other hosts and containers, and where the processes
 * of other users are hidden, as even the first one is then.
 */
export function isProcessOver(
  { bootId, pid, pidStartedAt }: Omit<ProcessIdentity, "hostname">,
  own: ProcessIdentity,
): boolean {
  return bootId === own.bootId && pidStartTime(pid) !== pidStartedAt && pidStartTime(1) !== null;
}

interface Inheritance extends Pick<Registration, "inherits" | "replaces"> {
  /** The requested name and the given one. */
  readonly names: readonly string[];
}

/**
 * A new node inherits the settings of the last node of its name. Drain and stop requests survive only a registration of
 * the same process. A node of the name that still beats is another live process, not a predecessor.
 */
async function keptOf(
  tx: Tx,
  { timing }: Config,
  { names, inherits, replaces }: Inheritance,
): Promise<Partial<Node>> {
  if (!inherits && !replaces) return {};
  const { nodes } = schema;
  const silence = duration(timing.lostAfterMs);
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

/** Identifies one process for ever: boot of the host, pid, and start time of the pid. */
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

/** Boot id and pid namespace: containers of one host share the boot id, but each has its own pid 1. */
function readBootId(): string {
  try {
    if (readlinkSync("/proc/self") !== String(process.pid)) throw new Error("/proc is of another namespace");
    const bootId = readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim();
    return `${bootId} ${readlinkSync("/proc/self/ns/pid")}`;
  } catch {
    // Without /proc, or with that of other processes, no predecessor is recognised; the watch declares it lost.
    return randomUUID();
  }
}

/** Start time of a process in clock ticks since boot; null without such a process or without /proc. */
function pidStartTime(pid: number): string | null {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    // The command in parentheses may contain spaces, so field 22 is counted from its end.
    return stat.slice(stat.lastIndexOf(")") + 2).split(" ")[19] ?? null;
  } catch {
    return null;
  }
}
