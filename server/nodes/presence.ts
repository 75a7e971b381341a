import { inArray, sql } from "drizzle-orm";
import { schema } from "../db/index.ts";
import type { Services } from "../services/index.ts";

interface Sighting {
  readonly counter: number;
  /** When the counter was first seen at this value, ms of the watcher's own monotonic clock. */
  readonly sinceMs: number;
}

/** What one watcher has seen of the counters; belongs to one process and is never shared. */
export interface NodeWatch {
  /** Reads the counters once and calls nodes lost whose counter stood still; gives back their ids. */
  read(services: Services): Promise<string[]>;
}

/**
 * Watches by the change of a counter and the watcher's own clock, never by timestamps: after a pause of the database
 * every timestamp is old, but a gap between two reads only starts the watch anew.
 */
export function createNodeWatch(now: () => number = () => performance.now()): NodeWatch {
  const seen = new Map<string, Sighting>();
  let lastReadMs: number | null = null;
  return {
    async read(services) {
      const { lostAfterMs, watchGapMs } = services.config.timing;
      const rows = await readCounters(services);
      const readMs = now();
      if (lastReadMs === null || readMs - lastReadMs > watchGapMs) seen.clear();
      lastReadMs = readMs;
      const still = rows.filter(({ id, counter }) => {
        const known = seen.get(id);
        if (!known || known.counter !== counter) seen.set(id, { counter, sinceMs: readMs });
        return known?.counter === counter && readMs - known.sinceMs >= lostAfterMs;
      });
      const live = new Set(rows.map((row) => row.id));
      for (const id of seen.keys()) if (!live.has(id)) seen.delete(id);
      return declareLost(services, still);
    },
  };
}

/** Watches the nodes from a process that runs no jobs, so that the loss of the last worker shows. Returns its end. */
export function keepNodeWatch(services: Services): () => void {
  const { log, config } = services;
  const watch = createNodeWatch();
  let isOver = false;
  let hasFailed = false;
  const pass = async () => {
    try {
      await watch.read(services);
      hasFailed = false;
    } catch (error) {
      if (!hasFailed && !isOver) log.warn({ err: error }, "nodes not read, trying again every second");
      hasFailed = true;
    }
    if (!isOver) timer = setTimeout(() => void pass(), config.timing.watchMs).unref();
  };
  let timer = setTimeout(() => void pass(), 0).unref();
  return () => {
    isOver = true;
    clearTimeout(timer);
  };
}

async function readCounters({ db }: Services) {
  const { nodes } = schema;
  return db
    .select({ id: nodes.id, counter: nodes.counter })
    .from(nodes)
    .where(inArray(nodes.state, ["active", "draining"]));
}

/** The counter is compared again in the update: a beat that came in between keeps its node alive. */
async function declareLost(
  { db, log }: Services,
  still: readonly { id: string; counter: number }[],
): Promise<string[]> {
  const { nodes } = schema;
  const lost: string[] = [];
  for (const { id, counter } of still) {
    const rows = await db
      .update(nodes)
      .set({ state: "lost", endedAt: sql`now()` })
      .where(
        sql`${nodes.id} = ${id} and ${nodes.counter} = ${counter} and ${nodes.state} in ('active', 'draining')`,
      )
      .returning({ id: nodes.id, name: nodes.name });
    for (const node of rows) {
      lost.push(node.id);
      log.warn({ nodeId: node.id, node: node.name }, "node lost: its counter stood still");
    }
  }
  return lost;
}
