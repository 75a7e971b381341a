import { keptBy } from "../platform/index.ts";
import { and, eq, sql } from "drizzle-orm";
import { duration, type NodeProblem, schema } from "../db/index.ts";
import type { Services } from "../services.ts";
import { isProcessOver, ownIdentity } from "./register.ts";
import { hasEnded, isPresent } from "./states.ts";

const { nodes } = schema;

/** The process begins to stop: the node claims nothing more but beats until its jobs end. No admin can resume it. */
export async function closeDoors({ db }: Pick<Services, "db">, nodeId: string): Promise<void> {
  await db
    .update(nodes)
    .set({ state: "draining", drainRequested: false })
    .where(and(eq(nodes.id, nodeId), isPresent(nodes.state)));
}

/** The process has stopped in order; its last write. */
export async function markGone({ db }: Pick<Services, "db">, nodeId: string): Promise<void> {
  await db
    .update(nodes)
    .set({ state: "gone", endedAt: sql`now()` })
    .where(and(eq(nodes.id, nodeId), isPresent(nodes.state)));
}

/** One watcher's memory of the counters; belongs to one process and is never shared. */
export interface NodeWatch {
  /** Reads the counters once and declares nodes lost whose counter has stopped, or whose process has ended; returns their ids. */
  read(services: Services): Promise<string[]>;
}

/**
 * Watches the change of a counter by the watcher's own clock, never by timestamps: after a pause of the database every
 * timestamp is old, but a gap between two reads only restarts the watch. The processes beside the watcher it sees end.
 */
export function createNodeWatch(now: () => number = () => performance.now()): NodeWatch {
  const own = ownIdentity();
  const seen = new Map<string, Sighting>();
  let lastReadMs: number | null = null;
  return {
    async read(services) {
      const { lostAfterMs, watchGapMs } = services.config.timing;
      const rows = await readCounters(services);
      const readMs = now();
      if (lastReadMs === null || readMs - lastReadMs > watchGapMs) seen.clear();
      lastReadMs = readMs;
      const still = rows.filter((row) => {
        const { id, counter } = row;
        const known = seen.get(id);
        if (!known || known.counter !== counter) seen.set(id, { counter, sinceMs: readMs });
        const isSilent = known?.counter === counter && readMs - known.sinceMs >= lostAfterMs;
        return isSilent || isProcessOver(row, own);
      });
      const live = new Set(rows.map((row) => row.id));
      for (const id of seen.keys()) if (!live.has(id)) seen.delete(id);
      return declareLost(services, still);
    },
  };
}

interface Sighting {
  readonly counter: number;
  /** When this value was first seen, ms of the watcher's own monotonic clock. */
  readonly sinceMs: number;
}

async function readCounters({ db }: Services) {
  const { id, counter, bootId, pid, pidStartedAt } = nodes;
  return db.select({ id, counter, bootId, pid, pidStartedAt }).from(nodes).where(isPresent(nodes.state));
}

/** The update compares the counter again, so that a beat in between keeps the node alive. */
async function declareLost(
  { db, log }: Services,
  still: readonly { id: string; counter: number }[],
): Promise<string[]> {
  const lost: string[] = [];
  for (const { id, counter } of still) {
    const rows = await db
      .update(nodes)
      .set({ state: "lost", endedAt: sql`now()` })
      .where(sql`${nodes.id} = ${id} and ${nodes.counter} = ${counter} and ${isPresent(nodes.state)}`)
      .returning({ id: nodes.id, name: nodes.name });
    for (const node of rows) {
      lost.push(node.id);
      log.warn(
        { nodeId: node.id, node: node.name },
        "node lost: its counter stood still, or its process has ended",
      );
    }
  }
  return lost;
}

/** Name of the problem that a node reports when its disk is full. */
export const spaceProblem = "Disk space";

/** Name of the problem that a node reports when it does not reach the studio's image store. */
export const storeProblem = "Image store";

/** Name of the problem that a node reports while it cannot read what people send to the Telegram bot. */
export const botProblem = "Telegram bot";

/** Stores why a node does not do all of its work; a null reason removes the problem. Writes only changes. */
export async function noteProblem(
  { db }: Pick<Services, "db">,
  nodeId: string,
  { what, reason }: { readonly what: string; readonly reason: string | null },
): Promise<void> {
  const own: NodeProblem[] = reason === null ? [] : [{ what, reason }];
  await db.execute(sql`
    with next as (
      select coalesce(jsonb_agg(problem) filter (where problem ->> 'what' <> ${what}), '[]'::jsonb)
        || ${JSON.stringify(own)}::jsonb as problems
      from ${nodes} n left join lateral jsonb_array_elements(n.problems) problem on true
      where n.id = ${nodeId})
    update ${nodes} set problems = next.problems from next
    where ${nodes.id} = ${nodeId} and ${nodes.problems} <> next.problems`);
}

interface Tally {
  readonly nodeId: string;
  processed: number;
  failed: number;
}

const talliesOf = keptBy((_db: Services["db"]) => new Map<string, Tally>());
/** The counts of a node are figures for the admin, so they may be this old. */
const tallyMs = 1_000;

/** Counts one ended run of a node. Stored with the other runs of the same second, or by `storeRunCounts`. */
export function countRun(
  services: Pick<Services, "db" | "log">,
  run: { nodeId: string; failed: boolean },
): void {
  const { nodeId, failed } = run;
  const open = talliesOf(services.db);
  const tally = open.get(nodeId) ?? { nodeId, processed: 0, failed: 0 };
  tally[failed ? "failed" : "processed"] += 1;
  if (!open.has(nodeId)) setTimeout(() => void storeRunCounts(services), tallyMs).unref();
  open.set(nodeId, tally);
}

/** Stores what `countRun` has counted; call it before the process ends. Never throws: lost counts are only logged. */
export async function storeRunCounts({ db, log }: Pick<Services, "db" | "log">): Promise<void> {
  const open = talliesOf(db);
  const counted = [...open.values()];
  open.clear();
  for (const { nodeId, processed, failed } of counted) {
    const change = {
      processed: sql`${nodes.processed} + ${processed}`,
      failed: sql`${nodes.failed} + ${failed}`,
    };
    await db
      .update(nodes)
      .set(change)
      .where(eq(nodes.id, nodeId))
      .catch((error: unknown) => log.warn({ err: error, nodeId }, "figures of the node not stored"));
  }
}

/** Removes incarnations that ended long ago; their jobs stay, without the name of the node. */
export async function pruneEnded({ db, config }: Pick<Services, "db" | "config">): Promise<void> {
  const age = duration(config.retention.nodesMs);
  await db.delete(nodes).where(and(hasEnded(nodes.state), sql`${nodes.endedAt} < now() - ${age}`));
}
