import type { Need } from "@atelier/server/engines";
import { serverLabel } from "@atelier/server/jobs";
import { newHealth, restingNeeds, type Health } from "./entry.ts";
import type { FoundServer } from "./merge-lists.ts";
import { unknownFacts } from "./server-probe.ts";
import type { MissingByWorkflow, ServerCondition, ServerFacts, ServerState } from "./server-state.ts";

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
  /** Another worker uses it. */
  isTaken: boolean;
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
    isTaken: false,
    turn: 0,
  };
}

export function conditionOf({ isListed, isDrainedByAdmin, found, health }: ServerEntry): ServerCondition {
  if (!isListed || isDrainedByAdmin || found.isDrained) return "draining";
  if (health.link !== "up") return health.link;
  return health.restsUntilMs === null ? "healthy" : "degraded";
}

/** What it can run at the moment: all but the needs that failed there too often. */
export function needsOf({ facts, health }: ServerEntry): readonly Need[] {
  const resting = restingNeeds(health);
  return resting.size === 0 ? facts.needs : facts.needs.filter((need) => !resting.has(need));
}

/** Whether the next job could be given to it at this moment. */
export function isFree(entry: ServerEntry): boolean {
  const { jobId, isTaken, health } = entry;
  return conditionOf(entry) === "healthy" && jobId === null && !isTaken && !health.mustFree;
}

export function toState(entry: ServerEntry): ServerState {
  const { found, label, facts, health, jobId, probedAt } = entry;
  return {
    ...facts,
    needs: needsOf(entry),
    missing: missingOf(entry),
    url: found.url,
    engine: found.engine,
    label,
    sources: entry.isListed ? found.sources : [],
    state: conditionOf(entry),
    jobId,
    isFree: isFree(entry),
    lastError: health.lastError,
    refusesConnections: health.isRefusing,
    probedAt,
  };
}

/** Why a need rests stands with what is missing for the others. */
function missingOf({ facts, health }: ServerEntry): MissingByWorkflow {
  const resting = [...restingNeeds(health)].map(([need, reason]) => {
    const name = need.slice(need.indexOf("/") + 1);
    return [name, [`runs that succeed (the last ones failed: ${reason})`]];
  });
  return { ...facts.missing, ...Object.fromEntries(resting) };
}
