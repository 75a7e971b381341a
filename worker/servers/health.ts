import type { AppError, ErrorCode } from "@atelier/server/platform";

/** What the circuit breaker of one server remembers. */
export interface Health {
  link: "unknown" | "up" | "down";
  failedProbes: number;
  /** Runs that the server was lost in, since the last good one. */
  lostRuns: number;
  memoryFailures: number;
  engineFailures: number;
  /** Its memory is to be freed before it takes the next job. */
  mustFree: boolean;
  /** Its runs failed several times in a row: it takes nothing until a probe after this moment finds it well. */
  restsUntilMs: number | null;
  /** While it is down it is asked again at this moment of the process's clock. */
  retryAtMs: number;
  lastError: string | null;
}

export interface HealthLimits {
  readonly memoryFailures: number;
  /** Shortest rest of a server whose runs failed. */
  readonly restMs: number;
}

const maxBackoffMs = 10_000;
const firstBackoffMs = 500;
/** One bad job may fail anywhere; so many in a row are the server's own fault. */
const maxEngineFailures = 3;

const lossCodes: readonly ErrorCode[] = ["server_lost", "proxy_error"];
const memoryCodes: readonly ErrorCode[] = ["gpu_out_of_memory", "out_of_memory"];
const engineCodes: readonly ErrorCode[] = ["engine_failed", "engine_crashed", "engine_timeout"];

export function newHealth(): Health {
  return {
    link: "unknown",
    failedProbes: 0,
    lostRuns: 0,
    memoryFailures: 0,
    engineFailures: 0,
    mustFree: false,
    restsUntilMs: null,
    retryAtMs: 0,
    lastError: null,
  };
}

export function noteAnswer(health: Health, nowMs: number): void {
  health.link = "up";
  health.failedProbes = 0;
  if (health.mustFree || (health.restsUntilMs !== null && nowMs < health.restsUntilMs)) return;
  health.restsUntilMs = null;
  health.lastError = null;
}

export function noteSilence(health: Health, error: AppError, nowMs: number): void {
  health.failedProbes += 1;
  noteLoss(health, error, nowMs);
}

export function noteGoodRun(health: Health): void {
  health.lostRuns = 0;
  health.memoryFailures = 0;
  health.engineFailures = 0;
  health.retryAtMs = 0;
}

/** Failures of one job alone (a wrong graph, a picture that is gone) say nothing about the server. */
export function noteFailedRun(
  health: Health,
  error: AppError,
  input: HealthLimits & { nowMs: number },
): void {
  if (lossCodes.includes(error.code)) {
    health.lostRuns += 1;
    noteLoss(health, error, input.nowMs);
  } else if (memoryCodes.includes(error.code)) {
    health.memoryFailures += 1;
    health.mustFree = true;
  } else if (engineCodes.includes(error.code)) {
    health.engineFailures += 1;
  } else {
    return;
  }
  health.lastError = error.message;
  const { memoryFailures, engineFailures } = health;
  if (memoryFailures < input.memoryFailures && engineFailures < maxEngineFailures) return;
  health.mustFree = true;
  health.restsUntilMs = input.nowMs + input.restMs;
}

/** The longer it stays away, the more rarely it is asked. */
function noteLoss(health: Health, error: AppError, nowMs: number): void {
  const failures = Math.max(health.failedProbes, health.lostRuns);
  health.link = "down";
  health.retryAtMs = nowMs + Math.min(maxBackoffMs, firstBackoffMs * 2 ** Math.min(10, failures - 1));
  health.lastError = error.message;
}
