import { mkdtemp, rm } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { discardOutput, storeOutput, type StoredOutput } from "@atelier/server/images";
import { complete, confirmCancel, fail, handBack, start, type Job, type Lease } from "@atelier/server/jobs";
import { countRun } from "@atelier/server/nodes";
import { AppError, toAppError } from "@atelier/server/platform";
import type { Services } from "@atelier/server/services";
import type { Engine, EngineOutput } from "./engines/index.ts";
import { fetchInputs } from "./fetch-inputs.ts";
import { createReport } from "./report.ts";
import { RunStopped } from "./runs.ts";

export interface RunInput {
  readonly job: Job;
  readonly lease: Lease;
  readonly engine: Engine;
  readonly signal: AbortSignal;
}

/** The life of one claimed job, from its inputs to its last status. Never throws: every end is written or fenced. */
export async function runJob(services: Services, input: RunInput): Promise<void> {
  const { job, lease } = input;
  const log = services.log.child({
    jobId: job.id,
    kind: job.kind,
    attempt: lease.attempt,
    nodeId: lease.nodeId,
  });
  const startedMs = performance.now();
  const workDir = await mkdtemp(path.join(os.tmpdir(), "atelier-job-"));
  let outcome = "completed";
  try {
    outcome = await work(services, input, workDir);
  } catch (error) {
    outcome = await endBadly({ ...services, log }, lease, error);
  } finally {
    await rm(workDir, { recursive: true, force: true });
  }
  log.info({ outcome, durationMs: Math.round(performance.now() - startedMs) }, "run ended");
  if (outcome !== "fenced") {
    await countRun(services, { nodeId: lease.nodeId, failed: outcome !== "completed" }).catch(
      (error: unknown) => {
        log.warn({ err: error }, "figures of the node not stored");
      },
    );
  }
}

async function work(services: Services, input: RunInput, workDir: string): Promise<string> {
  const { job, lease, engine, signal } = input;
  const inputs = await fetchInputs(services, job, workDir);
  signal.throwIfAborted();
  if (!(await start(services, lease))) return "fenced";
  const report = createReport(services, job, lease);
  const limit = AbortSignal.timeout(services.config.timing.runLimitMs);
  const outputs = await engine
    .run(
      { jobId: job.id, kind: job.kind, params: job.params, inputs, workDir },
      {
        signal: AbortSignal.any([signal, limit]),
        onProgress: (fraction, stage) => report.progress(fraction, stage),
        onPreview: (bytes) => report.preview(bytes),
      },
    )
    .finally(() => report.end());
  return store(services, input, outputs);
}

async function store(
  services: Services,
  { job, lease, signal }: RunInput,
  made: readonly EngineOutput[],
): Promise<string> {
  const stored: StoredOutput[] = [];
  try {
    for (const [position, { path: file, mime }] of made.entries()) {
      const { id: jobId, ownerId, kind } = job;
      stored.push(
        await storeOutput(services, {
          ownerId,
          jobId,
          attempt: lease.attempt,
          kind,
          position,
          path: file,
          mime,
        }),
      );
    }
    signal.throwIfAborted();
  } catch (error) {
    await discard(services, stored);
    throw error;
  }
  // From here on a lost answer may hide a commit, so the objects stay: with a row they are the result, without one
  // the sweep removes them.
  const facts = Object.assign({}, ...made.map((output) => output.facts));
  const completed = await complete(services, { lease, outputs: stored, facts });
  if (completed) return "completed";
  await discard(services, stored);
  return "fenced";
}

async function discard(services: Services, stored: readonly StoredOutput[]): Promise<void> {
  for (const { storageKey } of stored) {
    await discardOutput(services, storageKey).catch((error: unknown) => {
      services.log.warn({ err: error, storageKey }, "objects of a discarded result stay until the sweep");
    });
  }
}

async function endBadly(services: Services, lease: Lease, error: unknown): Promise<string> {
  try {
    if (error instanceof RunStopped) return await endStopped(services, lease, error);
    const failure = isTimeout(error)
      ? new AppError("engine_timeout", undefined, { cause: error })
      : toAppError(error);
    services.log.warn({ err: failure.cause ?? failure, code: failure.code }, "run failed");
    return (await fail(services, lease, failure)) ? failure.code : "fenced";
  } catch (writeError) {
    // The database is away: the lease runs out with the node's beat, or the next claim finds the row.
    services.log.error({ err: writeError }, "the end of a run could not be stored");
    return "fenced";
  }
}

async function endStopped(services: Services, lease: Lease, { reason }: RunStopped): Promise<string> {
  switch (reason) {
    case "cancelled":
      return (await confirmCancel(services, lease)) ? "cancelled" : "fenced";
    case "stopping":
      return (await handBack(services, lease)) ? "handed_back" : "fenced";
    case "lost":
      return "fenced";
  }
}

function isTimeout(error: unknown): boolean {
  return error instanceof DOMException && error.name === "TimeoutError";
}
