import { setTimeout as sleep } from "node:timers/promises";
import { randomUUID } from "node:crypto";
import { isDatabaseAway } from "@atelier/server/db";
import { admitResults } from "@atelier/server/gate";
import { discardOutput, type StoredOutput, storeOutput } from "@atelier/server/images";
import { type CallEnded, endCall, type Job } from "@atelier/server/jobs";
import { backoffMs, inSpan, isAppError } from "@atelier/server/platform";
import { type Attempt, ownOutageMs, ProviderError, type ProviderOutput } from "@atelier/server/providers";
import type { Services } from "@atelier/server/services";
import { keepTempFolder } from "@atelier/server/storage";
import type { EngineOutput } from "../engines/index.ts";
import { endsRun, faultOf, type Fetching, fetchResult, isOwnOutage } from "./fetch-result.ts";
import { otherShapeOf } from "./sizes.ts";

/** Pictures of one run that are kept at most. */
const maxOutputs = 8;

export interface Finished extends Fetching {
  readonly attempt: Attempt;
  readonly outputs: readonly ProviderOutput[];
  readonly costUsd: number | null;
  /** What cannot be fetched now is left out, if there are other results. */
  readonly isLastTry: boolean;
  /** Ends the wait for the database, where the result can be fetched again: the run is still at the provider. */
  readonly stopped?: AbortSignal;
}

/** Fetches the results of a run, stores them and completes the job. False when it no longer waits for them. Throws like `store`. */
export async function finishRun(services: Services, finished: Finished): Promise<boolean> {
  return complete(services, finished, await store(services, finished));
}

/** What cannot be stored now leaves its files to the sweep: the commit may have come without an answer. */
async function complete(
  services: Services,
  { job, attempt, costUsd, stopped }: Finished,
  stored: readonly StoredOutput[],
): Promise<boolean> {
  const made = { as: "made", outputs: stored, costUsd, shape: otherShapeOf(job, stored) } as const;
  const ending = { attempt, ...(stopped && { signal: stopped }) };
  if ((await endCall(services, ending, made)) === "completed") return true;
  await discardOutput(services, ...stored.map(({ storageKey }) => storageKey));
  return false;
}

/** Fetches the results of a run and stores them. Throws like `fetchAll` and `keep`. */
async function store(services: Services, finished: Finished): Promise<StoredOutput[]> {
  return keep(services, finished, await fetchAll(services, finished));
}

/**
 * Fetches the results of a run and checks that they are pictures. Throws `ProviderError` (`transient`: fetch again;
 * `internal`: what came is no picture, or may not be fetched). Several results, of which some are of no use, come without those.
 */
async function fetchAll(services: Services, finished: Finished): Promise<EngineOutput[]> {
  const { outputs } = finished;
  if (outputs.length === 0) throw new ProviderError("internal", "The run has no picture.");
  const made: EngineOutput[] = [];
  const faults: ProviderError[] = [];
  for (const [at, output] of outputs.slice(0, maxOutputs).entries()) {
    const taken = await fetchResult(services, finished, { output, name: `result-${at}` });
    if (taken instanceof ProviderError) faults.push(taken);
    else made.push(taken);
  }
  const again = faults.find(
    (fault) => fault.class === "transient" && (made.length === 0 || !finished.isLastTry),
  );
  if (again) throw again;
  if (made.length === 0) throw faults[0] ?? new ProviderError("internal", "The run has no picture.");
  return made;
}

/** Throws `storage_unavailable`, `gate_unavailable`, and `ProviderError` (`gate`: the studio refuses them). */
async function keep(
  services: Services,
  finished: Finished,
  made: readonly EngineOutput[],
): Promise<StoredOutput[]> {
  const admitted = await admit(services, finished.job, made);
  const { id: jobId, traceparent: parent } = finished.job;
  const start = { parent, attributes: { "atelier.job.id": jobId } };
  return inSpan(services.tracing, "store", start, () => storeAll(services, finished, admitted));
}

/** What the studio refuses was made all the same, and is paid for. */
async function admit(services: Services, job: Job, made: readonly EngineOutput[]) {
  try {
    return await admitResults(services, job, made);
  } catch (error) {
    if (!isAppError(error) || error.code !== "result_refused") throw error;
    throw new ProviderError("gate", error.message, { isCharged: true, cause: error });
  }
}

async function storeAll(
  services: Services,
  { job, files: inputFiles }: Finished,
  made: readonly EngineOutput[],
): Promise<StoredOutput[]> {
  const stored: StoredOutput[] = [];
  const faults: unknown[] = [];
  const { id: jobId, ownerId, kind } = job;
  // A key of its own: another process that fetches the same results must not remove these.
  const attempt = randomUUID();
  try {
    for (const [position, { path: file, mime }] of made.entries()) {
      const result = { ownerId, jobId, attempt, kind, position, path: file, mime, inputFiles };
      const taken = await storeOutput(services, result).catch((error: unknown) => {
        if (!endsRun(error)) throw error;
        faults.push(error);
      });
      if (taken) stored.push(taken);
    }
    if (stored.length === 0) throw faults[0];
    return stored;
  } catch (error) {
    await discardOutput(services, ...stored.map(({ storageKey }) => storageKey));
    throw error;
  }
}

/** The fetch of all results, once. */
const tryLimitMs = 150_000;

const usualPatience = {
  firstPauseMs: 2_000,
  mostPauseMs: 10_000,
  /** For the provider's files. */
  patienceMs: 10 * 60_000,
  outageMs: ownOutageMs,
  /** In a worker that stops, or whose user has cancelled the job. */
  stopMs: 30_000,
};

/**
 * Stores what a synchronous provider made. It was paid for and cannot be asked for again, so a result, and for longer the
 * studio's own store and database, that is away for a while is waited for, for less long when `signal` aborts; when that does
 * not help the run has failed late, at its price.
 */
export async function finishCall(
  services: Services,
  { signal: stopped, ...finished }: Omit<Finished, "isLastTry" | "stopped">,
  patience = usualPatience,
): Promise<CallEnded> {
  let made: EngineOutput[] | null = null;
  let stored: StoredOutput[] | null = null;
  const begunMs = performance.now();
  const pause = { firstMs: patience.firstPauseMs, mostMs: patience.mostPauseMs, factor: 1.5 };
  for (let tries = 1; ; tries += 1) {
    const waitedMs = performance.now() - begunMs;
    const isOver = (mostMs: number) => waitedMs >= (stopped.aborted ? patience.stopMs : mostMs);
    const isLastTry = isOver(patience.patienceMs);
    await keepTempFolder(finished.workDir);
    try {
      const tried = { ...finished, isLastTry, signal: AbortSignal.timeout(tryLimitMs) };
      made ??= await fetchAll(services, tried);
      stored ??= await keep(services, tried, made);
      return (await complete(services, tried, stored)) ? "completed" : "fenced";
    } catch (error) {
      const isFinal = endsRun(error) || (stored !== null && !isOwnOutage(error));
      const isGivenUp = isOwnOutage(error) ? isOver(patience.outageMs) : isLastTry;
      if (isFinal || isGivenUp) return failLate(services, { ...finished, signal: stopped }, error);
    }
    await sleep(backoffMs(tries, pause));
  }
}

function failLate(
  services: Services,
  { attempt, costUsd, signal }: Pick<Finished, "attempt" | "costUsd" | "signal">,
  cause: unknown,
): Promise<CallEnded> {
  services.log.warn({ err: cause }, "the result of a provider could not be taken");
  return endPatiently(services, { attempt }, { as: "unusable", error: faultOf(cause), costUsd }, signal);
}

/**
 * What a call has come to is known here alone: without the id of its run another process could only call it lost, and buy it
 * again. So the database is waited for, also when others may take the call over; in a worker that stops the present try is the last.
 */
export async function endPatiently(
  services: Services,
  called: Parameters<typeof endCall>[1],
  end: Parameters<typeof endCall>[2],
  stopped: AbortSignal,
): Promise<CallEnded> {
  const endMs = performance.now() + ownOutageMs;
  for (;;) {
    try {
      return await endCall(services, called, end);
    } catch (error) {
      if (!isDatabaseAway(error) || stopped.aborted || performance.now() > endMs) throw error;
    }
  }
}
