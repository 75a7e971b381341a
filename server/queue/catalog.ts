import type { Config } from "../platform/index.ts";

/** Names of the queues of the configuration, the most demanding first, as written there. */
export function queueNames(config: Config): string[] {
  return Object.keys(config.queues);
}

const gib = 1024 ** 3;

/** The queue that a machine subscribes to: the most demanding class that it satisfies. */
export function queueForMachine(
  config: Config,
  machine: { cores: number; memoryBytes: number },
): string | null {
  const fitting = Object.entries(config.queues).find(
    ([, need]) => machine.cores >= need.minCores && machine.memoryBytes >= need.minMemoryGib * gib,
  );
  return fitting?.[0] ?? null;
}
