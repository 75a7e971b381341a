import type { Need } from "@atelier/server/engines";
import { serverLabel } from "@atelier/server/jobs";
import type { AppError, ErrorCode } from "@atelier/server/platform";
import type { FoundServer } from "./discovery.ts";
import type { MissingByWorkflow, ServerCondition, ServerFacts, ServerState } from "./index.ts";
import { unknownFacts } from "./probes.ts";

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

export function conditionOf({ isListed, isDrainedByAdmin, found, health }: ServerEntry): ServerCondition {
  if (!isListed || isDrainedByAdmin || found.isDrained) return "draining";
  if (health.link !== "up") return health.link;
  return health.restsUntilMs === null ? "healthy" : "degraded";
}

/** Whether the next job could be given to it at this moment. */
export function isFree(entry: ServerEntry): boolean {
  const { jobId, isTaken, health } = entry;
  return conditionOf(entry) === "healthy" && jobId === null && !isTaken && !health.mustFree;
}

/** What it can run at the moment: all but the needs that failed there too often. */
export function needsOf({ facts, health }: ServerEntry): readonly Need[] {
  const resting = restingNeeds(health);
  return resting.size === 0 ? facts.needs : facts.needs.filter((need) => !resting.has(need));
}

/** Why a need rests stands with what is missing for the others. */
function missingOf({ facts, health }: ServerEntry): MissingByWorkflow {
  const resting = [...restingNeeds(health)].map(([need, reason]) => {
    const name = need.slice(need.indexOf("/") + 1);
    return [name, [`runs that succeed (the last ones failed: ${reason})`]];
  });
  return { ...facts.missing, ...Object.fromEntries(resting) };
}

/** What the circuit breaker of one server remembers. */
interface Health {
  link: "unknown" | "up" | "down";
  failedProbes: number;
  /** Runs that the server was lost in, since the last good one. */
  lostRuns: number;
  memoryFailures: number;
  /** Needs whose last runs failed here, such as a workflow with a damaged model file. */
  readonly failedNeeds: Map<Need, NeedFailures>;
  /** Those that came to rest since the last good run of any need. */
  readonly restedInRow: Set<Need>;
  /** Its memory is to be freed before it takes the next job. */
  mustFree: boolean;
  /** Its runs failed several times in a row: it takes nothing until a probe after this moment finds it well. */
  restsUntilMs: number | null;
  /** While it is down it is asked again at this moment of the process's clock. */
  retryAtMs: number;
  lastError: string | null;
  /** The last probe found nothing that listens at the address. */
  isRefusing: boolean;
}

/** Runs of one need that failed in a row. */
interface NeedFailures {
  runs: number;
  /** It is not offered until a probe after this moment is answered. */
  restsUntilMs: number | null;
  lastError: string;
}

interface HealthLimits {
  readonly memoryFailures: number;
  /** Shortest rest of a server whose runs failed. */
  readonly restMs: number;
}

type FailedRun = HealthLimits & { readonly need: Need; readonly nowMs: number };

const maxBackoffMs = 10_000;
const firstBackoffMs = 500;
/** One bad job may fail anywhere; after so many in a row the server does not get the need for a while. */
const maxNeedFailures = 3;
const maxNeedRestMs = 60_000;
/** One need that fails may have a damaged model; so many without a good run between them are the server's own fault. */
const maxRestedInRow = 2;

const lossCodes: readonly ErrorCode[] = ["server_lost", "proxy_error"];
const memoryCodes: readonly ErrorCode[] = ["gpu_out_of_memory", "out_of_memory"];
const engineCodes: readonly ErrorCode[] = ["engine_failed", "engine_crashed", "engine_timeout"];

export function newHealth(): Health {
  return {
    link: "unknown",
    failedProbes: 0,
    lostRuns: 0,
    memoryFailures: 0,
    failedNeeds: new Map(),
    restedInRow: new Set(),
    mustFree: false,
    restsUntilMs: null,
    retryAtMs: 0,
    lastError: null,
    isRefusing: false,
  };
}

export function noteAnswer(health: Health, nowMs: number): void {
  health.link = "up";
  health.failedProbes = 0;
  health.isRefusing = false;
  for (const need of health.failedNeeds.values())
    if (need.restsUntilMs !== null && nowMs >= need.restsUntilMs) need.restsUntilMs = null;
  if (health.mustFree || (health.restsUntilMs !== null && nowMs < health.restsUntilMs)) return;
  health.restsUntilMs = null;
  health.lastError = null;
}

export function noteSilence(health: Health, error: AppError, nowMs: number): void {
  health.failedProbes += 1;
  health.isRefusing = error.details?.["reason"] === "refused";
  noteLoss(health, error, nowMs);
}

export function noteGoodRun(health: Health, need: Need): void {
  health.lostRuns = 0;
  health.memoryFailures = 0;
  health.failedNeeds.delete(need);
  health.restedInRow.clear();
  health.retryAtMs = 0;
}

/** Failures of one job alone (a wrong graph, a picture that is gone) say nothing about the server. */
export function noteFailedRun(health: Health, error: AppError, input: FailedRun): void {
  if (lossCodes.includes(error.code)) {
    health.lostRuns += 1;
    noteLoss(health, error, input.nowMs);
  } else if (memoryCodes.includes(error.code)) {
    health.memoryFailures += 1;
    health.mustFree = true;
    health.lastError = error.message;
    if (health.memoryFailures >= input.memoryFailures) rest(health, error, input);
  } else if (engineCodes.includes(error.code)) {
    noteFailedNeed(health, error, input);
    if (health.restedInRow.size >= maxRestedInRow) rest(health, error, input);
  }
}

function rest(health: Health, { message }: AppError, { nowMs, restMs }: FailedRun): void {
  health.lastError = message;
  health.mustFree = true;
  health.restsUntilMs = nowMs + restMs;
}

/** The rest doubles with each further failure. */
function noteFailedNeed(
  { failedNeeds, restedInRow }: Health,
  { message }: AppError,
  { need, nowMs, restMs }: FailedRun,
): void {
  const runs = (failedNeeds.get(need)?.runs ?? 0) + 1;
  const doubledMs = restMs * 2 ** Math.min(10, Math.max(0, runs - maxNeedFailures));
  const restForMs = Math.max(restMs, Math.min(maxNeedRestMs, doubledMs));
  const mustRest = runs >= maxNeedFailures;
  if (mustRest) restedInRow.add(need);
  failedNeeds.set(need, { runs, restsUntilMs: mustRest ? nowMs + restForMs : null, lastError: message });
}

/** The longer it stays away, the more rarely it is asked. */
function noteLoss(health: Health, error: AppError, nowMs: number): void {
  const failures = Math.max(health.failedProbes, health.lostRuns);
  health.link = "down";
  health.retryAtMs = nowMs + Math.min(maxBackoffMs, firstBackoffMs * 2 ** Math.min(10, failures - 1));
  health.lastError = error.message;
}

/** The needs that the server does not get at the moment, each with the error of its last run. */
export function restingNeeds({ failedNeeds }: Health): ReadonlyMap<Need, string> {
  const resting = [...failedNeeds].filter(([, { restsUntilMs }]) => restsUntilMs !== null);
  return new Map(resting.map(([need, { lastError }]) => [need, lastError]));
}
