import type { Need } from "@atelier/server/engines";
import { serverLabel } from "@atelier/server/jobs";
import { type AppError, backoffMs, type ErrorCode } from "@atelier/server/platform";
import { isOfOwnIds, isOfUnfit, suspectNode } from "../clients/comfyui/index.ts";
import type { FoundServer } from "./discovery.ts";
import type { MissingByWorkflow, ServerCondition, ServerFacts, ServerState } from "./index.ts";
import { unknownFacts } from "./probes.ts";

/** Everything that the pool knows of one server. */
export interface ServerEntry {
  found: FoundServer;
  readonly label: string;
  readonly health: Health;
  /** False when no source lists the server any more. */
  isListed: boolean;
  isDrainedByAdmin: boolean;
  /** Facts of the last good probe. */
  facts: ServerFacts;
  probedAt: Date | null;
  /** Jobs of other clients in the server's own queue at the last probe. */
  othersQueued: number;
  jobId: string | null;
  /** What it can begin without a load: by its last good run, empty after a failure, a restart or the run of another client. */
  loadedNeeds: readonly Need[];
  /** Another worker uses the server. */
  isTaken: boolean;
  /** Servers are chosen in turn: the lowest number first. */
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
    loadedNeeds: [],
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
    loadedNeeds: entry.loadedNeeds,
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

/** Whether the pool can give the server to a job now. */
export function isFree(entry: ServerEntry): boolean {
  const { jobId, isTaken, health } = entry;
  return conditionOf(entry) === "healthy" && jobId === null && !isTaken && !health.mustFree;
}

/** What the server can run now: all its needs except those that rest. */
export function needsOf({ facts, health }: ServerEntry): readonly Need[] {
  if (health.isTooOld) return [];
  const resting = restingNeeds(health);
  return resting.size === 0 ? facts.needs : facts.needs.filter((need) => !resting.has(need));
}

/** What the server lacks; a resting need is listed with the error of its last run. */
function missingOf({ facts, health }: ServerEntry): MissingByWorkflow {
  const nameOf = (need: Need) => need.slice(need.indexOf("/") + 1);
  if (health.isTooOld)
    return Object.fromEntries(
      facts.needs.map((need) => [nameOf(need), ["a newer ComfyUI (it ignores prompt ids)"]]),
    );
  const resting = [...restingNeeds(health)].map(([need, reason]) => [
    nameOf(need),
    [`runs that succeed (the last ones failed: ${reason})`],
  ]);
  return { ...facts.missing, ...Object.fromEntries(resting) };
}

/** The state of the circuit breaker of one server; the diagram in index.ts shows its states. */
interface Health {
  link: "unknown" | "up" | "down";
  failedProbes: number;
  /** Runs that ended with a lost server, since the last good run. */
  lostRuns: number;
  memoryFailures: number;
  /** Needs whose last runs failed on this server, for instance because of a damaged model file. */
  readonly failedNeeds: Map<Need, NeedFailures>;
  /** Needs that began to rest since the last good run of any need. */
  readonly restedInRow: Set<Need>;
  /** Runs that failed as all do on a server without its card or with a full disk, since the last good run or restart. */
  unfitRuns: number;
  /** Classes of nodes that could not write, since then: one may want a folder of its own. */
  readonly suspectNodes: Set<string>;
  /** It gives prompts ids of its own: it is offered for nothing until its version is another one. */
  isTooOld: boolean;
  /** Its memory must be freed before the next job. */
  mustFree: boolean;
  /** The server is degraded until a probe after this moment is answered. */
  restsUntilMs: number | null;
  /** Time of the next probe while the server is down, on the monotonic clock. */
  retryAtMs: number;
  lastError: string | null;
  /** At the last probe nothing listened at the address. */
  isRefusing: boolean;
}

/** Failed runs of one need in a row. */
interface NeedFailures {
  runs: number;
  /** The need is not offered until a probe after this moment is answered. */
  restsUntilMs: number | null;
  lastError: string;
}

interface HealthLimits {
  readonly memoryFailures: number;
  /** Shortest rest of a server or of a need. */
  readonly restMs: number;
}

type FailedRun = HealthLimits & { readonly need: Need; readonly nowMs: number };

const maxBackoffMs = 10_000;
const firstBackoffMs = 500;
/** One bad job may fail on any server; after this many failures in a row the need rests on this one. */
const maxNeedFailures = 3;
const maxNeedRestMs = 60_000;
/** A server that fails every run is tried again after a growing rest: what its operator does may go unnoticed. */
const maxUnfitRestMs = 300_000;
/** One failing need may have a damaged model; this many without a good run in between mean that the server is at fault. */
const maxRestedInRow = 2;

const lossCodes: readonly ErrorCode[] = ["server_lost", "proxy_error"];
const memoryCodes: readonly ErrorCode[] = ["gpu_out_of_memory", "out_of_memory"];
const engineCodes: readonly ErrorCode[] = [
  "engine_failed",
  "node_failed",
  "engine_crashed",
  "engine_timeout",
];

export function newHealth(): Health {
  return {
    link: "unknown",
    failedProbes: 0,
    lostRuns: 0,
    memoryFailures: 0,
    failedNeeds: new Map(),
    restedInRow: new Set(),
    unfitRuns: 0,
    suspectNodes: new Set(),
    isTooOld: false,
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
  const reason = error.details?.["reason"];
  health.isRefusing = reason === "refused";
  // Nothing listens: the process has ended.
  if (reason === "refused" || reason === "ECONNREFUSED") noteRestart(health);
  noteLoss(health, error, nowMs);
}

/** A new process may be fit again. */
export function noteRestart(health: Health): void {
  if (health.unfitRuns > 0) health.restsUntilMs = 0;
  noteFit(health);
}

function noteFit(health: Health): void {
  health.unfitRuns = 0;
  health.suspectNodes.clear();
}

export function noteGoodRun(health: Health, need: Need): void {
  noteFit(health);
  health.lostRuns = 0;
  health.memoryFailures = 0;
  health.failedNeeds.delete(need);
  health.restedInRow.clear();
  health.retryAtMs = 0;
}

/** Notes a failed run. Failures that only concern the job (an invalid graph, a missing picture) change nothing. */
export function noteFailedRun(health: Health, error: AppError, input: FailedRun): void {
  if (lossCodes.includes(error.code)) {
    health.lostRuns += 1;
    noteLoss(health, error, input.nowMs);
  } else if (memoryCodes.includes(error.code)) {
    health.memoryFailures += 1;
    health.mustFree = true;
    health.lastError = error.message;
    if (health.memoryFailures >= input.memoryFailures) rest(health, error, input);
  } else if (isOfOwnIds(error)) {
    health.isTooOld = true;
  } else if (isOfUnfit(error) && isOfServer(health, error)) {
    health.unfitRuns += 1;
    const mostMs = Math.max(input.restMs, maxUnfitRestMs);
    rest(health, error, {
      ...input,
      restMs: backoffMs(health.unfitRuns + 1, { firstMs: input.restMs, mostMs }),
    });
  } else if (engineCodes.includes(error.code)) {
    noteFailedNeed(health, error, input);
    if (health.restedInRow.size >= maxRestedInRow) rest(health, error, input);
  }
}

/** A node that cannot write is at fault itself, until another one cannot either. */
function isOfServer({ unfitRuns, suspectNodes }: Health, error: AppError): boolean {
  const node = suspectNode(error);
  if (node !== null) suspectNodes.add(node);
  return node === null || unfitRuns > 0 || suspectNodes.size > 1;
}

/** Memory is freed for want of memory alone: it holds what nodes have made, which may have been paid. */
function rest(health: Health, { message }: AppError, { nowMs, restMs }: FailedRun): void {
  health.lastError = message;
  health.restsUntilMs = nowMs + restMs;
}

/** The rest of the need doubles with each further failure. */
function noteFailedNeed(
  { failedNeeds, restedInRow }: Health,
  { message }: AppError,
  { need, nowMs, restMs }: FailedRun,
): void {
  const runs = (failedNeeds.get(need)?.runs ?? 0) + 1;
  const rests = runs - maxNeedFailures + 1;
  const restForMs = backoffMs(rests, { firstMs: restMs, mostMs: Math.max(restMs, maxNeedRestMs) });
  if (rests > 0) restedInRow.add(need);
  failedNeeds.set(need, { runs, restsUntilMs: rests > 0 ? nowMs + restForMs : null, lastError: message });
}

/** Marks the server down; the pause before the next probe doubles with each failure. */
function noteLoss(health: Health, error: AppError, nowMs: number): void {
  const failures = Math.max(health.failedProbes, health.lostRuns);
  health.link = "down";
  health.retryAtMs = nowMs + backoffMs(failures, { firstMs: firstBackoffMs, mostMs: maxBackoffMs });
  health.lastError = error.message;
}

/** The needs that rest now, each with the error of its last run. */
export function restingNeeds({ failedNeeds }: Health): ReadonlyMap<Need, string> {
  const resting = [...failedNeeds].filter(([, { restsUntilMs }]) => restsUntilMs !== null);
  return new Map(resting.map(([need, { lastError }]) => [need, lastError]));
}
