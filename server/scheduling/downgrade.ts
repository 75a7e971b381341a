import type { Db, Tx } from "../db/index.ts";
import { type EngineName, enginesFor, type JobKind, type Need, needOf } from "../engines.ts";
import type { Config, QueueNeeds } from "../platform/index.ts";
import { type LivePlace, livePlaces } from "./places.ts";

export interface DowngradeRequest {
  readonly kind: JobKind;
  readonly engine: EngineName;
  readonly workflow: string | null;
  readonly need: Need;
  readonly queue: string;
  readonly params: Readonly<Record<string, unknown>>;
  readonly roles: ReadonlySet<string>;
}

/** A place of lower speed or quality. */
export interface Downgrade {
  readonly queue: string;
  readonly need: Need;
  readonly engine: EngineName;
  readonly workflow: string | null;
}

/**
 * The place for a job that needs more memory than any graphics card has: the same workflow on a CPU queue, else another
 * engine for the kind on a CPU queue. Null when none is live.
 */
export async function findDowngrade(
  db: Db | Tx,
  config: Config,
  request: DowngradeRequest,
): Promise<Downgrade | null> {
  const { kind, engine, workflow, need, queue } = request;
  const isCpu = ({ queue: name }: LivePlace) => (config.queues[name]?.minVramGib ?? 0) === 0;
  const live = (await livePlaces(db)).filter(isCpu);
  const same = live.find((place) => place.need === need && place.queue !== queue);
  if (same) return { queue: same.queue, need, engine, workflow };
  for (const other of enginesFor(request).filter((name) => name !== "comfyui" && name !== engine)) {
    const otherNeed = needOf({ engine: other, kind, workflow: null });
    const place = live.find((candidate) => candidate.need === otherNeed);
    if (place) return { queue: place.queue, need: otherNeed, engine: other, workflow: null };
  }
  return null;
}

/**
 * The queue with the lowest requirements; on a tie the later one in the configuration, which lists the most demanding
 * queue first. Null without queues.
 */
export function leastDemandingQueue(queues: Config["queues"]): string | null {
  const sorted = Object.entries(queues)
    .toReversed()
    .toSorted(([, a], [, b]) => compareNeeds(a, b));
  return sorted[0]?.[0] ?? null;
}

function compareNeeds(a: QueueNeeds, b: QueueNeeds): number {
  return a.minVramGib - b.minVramGib || a.minCores - b.minCores || a.minMemoryGib - b.minMemoryGib;
}
