import type { Config, QueueNeeds } from "../platform/index.ts";

/**
 * Of some queues, in the order of the configuration, the one that asks for the least; of those that ask for the same the
 * last, since the most demanding stands first. Null without any.
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
