import type { Config, QueueNeeds } from "@atelier/server/platform";
import { leastDemandingQueue } from "@atelier/server/scheduling";
import type { ServerState } from "../servers/index.ts";
import type { Machine } from "./machine.ts";

const gib = 1024 ** 3;
/** Cards and machines report a little less than the round number on the box. */
const tolerance = 0.95;

/** The most demanding class comes first in the configuration. */
function findQueue(config: Config, fits: (needs: QueueNeeds) => boolean): string | null {
  return Object.entries(config.queues).find(([, needs]) => fits(needs))?.[0] ?? null;
}

/** The class of graphics cards that the best server of the node belongs to; null without a server that has a card. */
export function chooseGpuQueue(config: Config, servers: readonly ServerState[]): string | null {
  const withCard = servers.filter(({ device }) => device !== null && device !== "cpu");
  const bestGib = Math.max(0, ...withCard.map(({ vramTotalBytes }) => (vramTotalBytes ?? 0) / gib));
  return findQueue(config, ({ minVramGib }) => minVramGib > 0 && bestGib >= minVramGib * tolerance);
}

/** The most demanding class that the machine itself satisfies; null when the configuration has none for it. */
export function chooseCpuQueue(config: Config, machine: Machine): string | null {
  return findQueue(config, (needs) => satisfies(machine, needs));
}

/** The least demanding class that the machine itself satisfies; null when the configuration has none for it. */
export function chooseLightQueue(config: Config, machine: Machine): string | null {
  const fitting = Object.entries(config.queues).filter(([, needs]) => satisfies(machine, needs));
  return leastDemandingQueue(Object.fromEntries(fitting));
}

function satisfies(
  { cores, memoryBytes }: Machine,
  { minVramGib, minCores, minMemoryGib }: QueueNeeds,
): boolean {
  return minVramGib === 0 && cores >= minCores && memoryBytes >= minMemoryGib * gib * tolerance;
}
