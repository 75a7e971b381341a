import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { isDatabaseAway } from "@atelier/server/db";
import type { InputRole } from "@atelier/server/engines";
import { discardOutput, readOriginalTo, type StoredOutput, storeOutput } from "@atelier/server/images";
import {
  complete,
  confirmCancel,
  fail,
  handBack,
  type Job,
  type Lease,
  loadInputImages,
  noteSubmission,
  start,
} from "@atelier/server/jobs";
import { countRun } from "@atelier/server/nodes";
import { AppError, toAppError } from "@atelier/server/platform";
import { findWorkflow } from "@atelier/server/scheduling";
import type { Services } from "@atelier/server/services";
import { withTempFolder } from "@atelier/server/storage";
import type { Engine, EngineOutput, EngineTask } from "./engines/index.ts";
import { createReport } from "./report.ts";
import { createRunClock, RunStopped } from "./runs.ts";
import type { ServerLeases } from "./server-leases.ts";

interface RunInput {
  readonly job: Job;
  readonly lease: Lease;
  /** Null when none of this worker's engines is the job's. */
  readonly engine: Engine | null;
  /** Servers of this node that do not serve the job's queue. */
  readonly otherServers: readonly string[];
  readonly serverLeases: Pick<ServerLeases, "take">;
  readonly signal: AbortSignal;
  /** The engine begins its work. */
  readonly onBegin: () => void;
}

/** `fenced`: somebody else holds or ended the job, or its end could not be written. */
type Outcome = "completed" | "failed" | "cancelled" | "handed_back" | "fenced";

/** The life of one claimed job, from its inputs to its last status. Never throws: every end is written or fenced. */
export async function runJob(services: Services, input: RunInput): Promise<void> {
  const { job, lease } = input;
  const { id: jobId, kind } = job;
  const log = services.log.child({ jobId, kind, attempt: lease.attempt, nodeId: lease.nodeId });
  const startedMs = performance.now();
  let outcome: Outcome;
  try {
    outcome = await withTempFolder(services.env, (workDir) => work(services, input, workDir));
  } catch (error) {
    outcome = await endBadly({ ...services, log }, lease, error);
  }
  log.info({ outcome, durationMs: Math.round(performance.now() - startedMs) }, "run ended");
  await count(services, lease, outcome);
}

async function work(services: Services, input: RunInput, workDir: string): Promise<Outcome> {
  const { job, lease, engine, signal } = input;
  if (!engine) throw new AppError("no_engine");
  const inputs = await fetchInputs(services, job, workDir);
  signal.throwIfAborted();
  if (!(await start(services, lease))) return "fenced";
  const report = createReport(services, lease);
  const task = await engineTaskFor(services, input, { inputs, workDir });
  const clock = createRunClock(services.config, job);
  const outputs = await engine
    .run(task, {
      signal: AbortSignal.any([signal, clock.signal]),
      onBegin() {
        clock.begin();
        input.onBegin();
      },
      onProgress: (fraction, stage) => report.progress(fraction, stage),
      onPreview: (make) => report.preview(make),
      async onSubmitting(posting) {
        clock.noteServer(posting.server);
        if (!(await noteSubmission(services, lease, posting))) throw new RunStopped("lost");
      },
      takeServer: (url) => input.serverLeases.take({ url, jobId: job.id, nodeId: lease.nodeId }),
    })
    .finally(() => {
      clock.stop();
      report.end();
    });
  return store(services, input, outputs);
}

/** The task of a claimed job; throws `workflow_unknown` when its workflow is published nowhere any more. */
async function engineTaskFor(
  services: Pick<Services, "db">,
  { job, otherServers }: Pick<RunInput, "job" | "otherServers">,
  files: Pick<EngineTask, "inputs" | "workDir">,
): Promise<EngineTask> {
  const { workflow: name, server, externalId } = job;
  const workflow = name === null ? null : await findWorkflow(services.db, name);
  if (name !== null && !workflow) throw new AppError("workflow_unknown", `The workflow "${name}" is gone.`);
  return {
    jobId: job.id,
    kind: job.kind,
    attempt: job.attempt,
    need: job.need,
    workflow,
    avoid: [...job.avoid, ...otherServers],
    submission: server !== null && externalId !== null ? { server, externalId } : null,
    params: job.params,
    ...files,
  };
}

/** Copies the job's pictures into the work folder; gives the path of each by role. Throws `input_missing`. */
async function fetchInputs(
  services: Services,
  job: Job,
  workDir: string,
): Promise<Partial<Record<InputRole, string>>> {
  const inputs: Partial<Record<InputRole, string>> = {};
  for (const [role, image] of await loadInputImages(services, job.id)) {
    const file = path.join(workDir, role);
    await readOriginalTo(services, image, file);
    inputs[role] = file;
  }
  return inputs;
}

async function store(
  services: Services,
  { job, lease, signal }: RunInput,
  made: readonly EngineOutput[],
): Promise<Outcome> {
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
  const completed = await persist(signal, () => complete(services, { lease, outputs: stored, facts }));
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

const patienceMs = 30_000;
const pauseMs = 500;

/**
 * Repeats a write while the database is away, so that minutes of an engine's work are not lost to a restart of it.
 * The write must be idempotent: a lost answer may hide a commit. Rejects with the signal's reason when aborted.
 */
async function persist<T>(signal: AbortSignal, write: () => Promise<T>): Promise<T> {
  const endMs = performance.now() + patienceMs;
  for (;;) {
    try {
      return await write();
    } catch (error) {
      if (!isDatabaseAway(error) || performance.now() > endMs) throw error;
    }
    await sleep(pauseMs);
    signal.throwIfAborted();
  }
}

async function endBadly(services: Services, lease: Lease, error: unknown): Promise<Outcome> {
  try {
    if (error instanceof RunStopped) return await endStopped(services, lease, error);
    const failure = classify(error);
    services.log.warn({ err: failure.cause ?? failure, code: failure.code }, "run failed");
    return (await fail(services, lease, failure)) ? "failed" : "fenced";
  } catch (writeError) {
    // The database is away: the lease runs out with the node's beat, or the next claim finds the row.
    services.log.error({ err: writeError }, "the end of a run could not be stored");
    return "fenced";
  }
}

async function endStopped(services: Services, lease: Lease, { reason }: RunStopped): Promise<Outcome> {
  switch (reason) {
    case "cancelled":
      return (await confirmCancel(services, lease)) ? "cancelled" : "fenced";
    case "stopping":
      return (await handBack(services, lease)) ? "handed_back" : "fenced";
    case "lost":
      return "fenced";
  }
}

function classify(error: unknown): AppError {
  if (isTimeout(error)) return new AppError("engine_timeout", undefined, { cause: error });
  if (isDatabaseAway(error)) return new AppError("database_unavailable", undefined, { cause: error });
  return toAppError(error);
}

function isTimeout(error: unknown): boolean {
  return error instanceof DOMException && error.name === "TimeoutError";
}

/** Runs that somebody stopped say nothing about the node. */
async function count(services: Services, { nodeId }: Lease, outcome: Outcome): Promise<void> {
  if (outcome !== "completed" && outcome !== "failed") return;
  await countRun(services, { nodeId, failed: outcome === "failed" }).catch((error: unknown) => {
    services.log.warn({ err: error, nodeId }, "figures of the node not stored");
  });
}
