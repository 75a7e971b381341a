import { serverLabel } from "@atelier/server/jobs";
import { newHealth, type Health } from "./health.ts";
import type { FoundServer } from "./merge-lists.ts";
import { unknownFacts } from "./server-probe.ts";
import type { ServerCondition, ServerFacts, ServerState } from "./server-state.ts";

/** All that the pool keeps of one server. */
export interface ServerEntry {
  found: FoundServer;
  readonly label: string;
  readonly health: Health;
  /** False once it has vanished from all sources. */
  isListed: boolean;
  isDrainedByAdmin: boolean;
  /** Of the last good probe. */
  facts: ServerFacts;
  probedAt: Date | null;
  /** Jobs of others in the server's own queue at the last probe. */
  othersQueued: number;
  jobId: string | null;
  /** Servers are taken in turn: the lowest first. */
  turn: number;
}

export function newEntry(found: FoundServer): ServerEntry {
  return {
    found,
    label: serverLabel(found.url),
    health: newHealth(),
    isListed: true,
    isDrainedByAdmin: false,
    facts: unknownFacts,
    probedAt: null,
    othersQueued: 0,
    jobId: null,
    turn: 0,
  };
}

export function conditionOf({ isListed, isDrainedByAdmin, found, health }: ServerEntry): ServerCondition {
  if (!isListed || isDrainedByAdmin || found.isDrained) return "draining";
  if (health.link !== "up") return health.link;
  return health.restsUntilMs === null ? "healthy" : "degraded";
}

/** Whether the next job could be given to it at this moment. */
export function isFree(entry: ServerEntry): boolean {
  return conditionOf(entry) === "healthy" && entry.jobId === null && !entry.health.mustFree;
}

export function toState(entry: ServerEntry): ServerState {
  const { found, label, facts, health, jobId, probedAt } = entry;
  return {
    ...facts,
    url: found.url,
    engine: found.engine,
    label,
    sources: entry.isListed ? found.sources : [],
    state: conditionOf(entry),
    jobId,
    isFree: isFree(entry),
    lastError: health.lastError,
    probedAt,
  };
}
