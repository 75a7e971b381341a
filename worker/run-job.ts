import { noteCompleted } from "@atelier/server/batches";
import { admitInputs, admitResults, hidesPreviews } from "@atelier/server/gate";
import { discardOutput, type StoredOutput, storeOutput } from "@atelier/server/images";
import {
  complete,
  fetchInputs,
  isNothingGenerated,
  type Job,
  type Lease,
  noteSubmission,
  start,
} from "@atelier/server/jobs";
import { persist } from "@atelier/server/leases";
import { countRun } from "@atelier/server/nodes";
import { AppError, inSpan, orAborted, orLate } from "@atelier/server/platform";
import { findWorkflow, readRunCosts } from "@atelier/server/scheduling";
import type { Services } from "@atelier/server/services";
import { withTempFolder } from "@atelier/server/storage";
import type { Engine, EngineOutput, EngineTask } from "./engines/index.ts";
import { createReport } from "./report.ts";
import { type BadEnd, endBadly } from "./base/end-badly.ts";
import { RunStopped } from "./base/index.ts";
import { inModelSpan, inRunSpan, logOfRun } from "./base/spans.ts";
import { createRunClock } from "./runs.ts";
import type { SharedServers } from "./shared-servers.ts";

interface RunInput {
  readonly job: Job;
  readonly lease: Lease;
  /** Null when none of this worker's engines is the job's. */
  readonly engine: Engine | null;
  /** Servers of this node that do not serve the job's queue. */
  readonly otherServers: readonly string[];
  readonly sharedServers: Pick<SharedServers, "take">;
  readonly signal: AbortSignal;
  /** The engine begins its work. */
  readonly onBegin: () => void;
}

type Outcome = "completed" | BadEnd;

/**
 * Runs one claimed job, from its inputs to its last status. Never throws.
 *
 *   claims.ts: claim                  row: waiting_for_engine
 *      | inputs copied to a temp folder, the gate looks at them
 *      v
 *   start                             row: processing
 *      | the engine waits for a free server (limit: `serverWaitLimitMs`, then `server_busy`)
 *      v
 *   onBegin                           limit: `runLimitMs` of runs.ts, then `engine_timeout`
 *      | the gate looks at the outputs of the engine, they are stored
 *      v
 *   complete -----------------------> completed
 *
 *   an error at any step -----------> failed (`fail` decides whether the job runs again)
 *   stopped: "cancelled" -----------> cancelled
 *   stopped: "stopping" ------------> handed_back (row: pending; costs the job no attempt)
 *   stopped: "lost", or any write
 *   that finds the lease invalid ---> fenced (nothing is written)
 */
export async function runJob(services: Services, input: RunInput): Promise<void> {
  const { job, lease } = input;
  const log = logOfRun(services, job, lease);
  const startedMs = performance.now();
  let outcome: Outcome;
  try {
    outcome = await inRunSpan(services, job, () =>
      withTempFolder(services.env, (workDir) => work(services, input, workDir)),
    );
  } catch (error) {
    // What the engine threw may be an effect of the stop.
    const { aborted, reason } = input.signal;
    outcome = await endBadly({ ...services, log }, lease, aborted ? reason : error);
  }
  log.info({ outcome, durationMs: Math.round(performance.now() - startedMs) }, "run ended");
  count(services, lease, outcome);
}

async function work(services: Services, input: RunInput, workDir: string): Promise<Outcome> {
  const { job, lease, engine, signal } = input;
  if (!engine) throw new AppError("no_engine");
  const { files: inputs } = await fetchInputs(services, job, { workDir, signal });
  await admitInputs(services, job, inputs, signal);
  signal.throwIfAborted();
  if (job.status !== "processing" && !(await start(services, lease))) return "fenced";
  const task = await engineTaskFor(services, input, { inputs, workDir });
  const clock = createRunClock(services.config, job, await readPastRuns(services, job));
  // Last: both are ended with the engine's run.
  const report = createReport(services, lease);
  const model = { job, provider: engine.name, model: job.workflow ?? job.need };
  const outputs = await inModelSpan(services, model, () =>
    engine.run(task, {
      signal: AbortSignal.any([signal, clock.signal]),
      onBegin() {
        clock.begin();
        input.onBegin();
      },
      onProgress(fraction, stage) {
        clock.noteProgress(fraction, stage);
        report.progress(fraction, stage);
      },
      onPreview: (make) => {
        if (!hidesPreviews(services.config, job.kind)) report.preview(make);
      },
      async onSubmitting(posting) {
        clock.noteServer(posting.server);
        if (!(await noteSubmission(services, lease, posting))) throw new RunStopped("lost");
      },
      takeServer: (url) => input.sharedServers.take({ url, jobId: job.id, nodeId: lease.nodeId }),
    }),
  ).finally(() => {
    clock.stop();
    report.end();
  });
  const admitted = await admitResults(services, job, outputs, signal);
  return inSpan(services.tracing, "store", {}, () =>
    store(services, input, { outputs: admitted, inputFiles: inputs }),
  );
}

/** What past runs like this one took, ms; none where they are too few or cannot be read. */
async function readPastRuns({ db, log }: Pick<Services, "db" | "log">, job: Job): Promise<readonly number[]> {
  try {
    const { runsMs, isMeasured } = (await readRunCosts(db, [job.need]))(job);
    return isMeasured ? runsMs : [];
  } catch (err) {
    log.debug({ err }, "past runs could not be read");
    return [];
  }
}

/** The engine task of a claimed job. Throws `workflow_unknown` when no node publishes its workflow any more. */
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

/** How long a stopped run waits for a store that still writes its result. */
const storeWaitMs = 1_000;

interface Made {
  readonly outputs: readonly EngineOutput[];
  readonly inputFiles: EngineTask["inputs"];
}

async function store(
  services: Services,
  { job, lease, signal }: RunInput,
  { outputs: made, inputFiles }: Made,
): Promise<Outcome> {
  const stores: Promise<StoredOutput>[] = [];
  const nothingGenerated = await isNothingGenerated(services, job);
  try {
    for (const [position, { path: file, mime }] of made.entries()) {
      const { id: jobId, ownerId, kind } = job;
      const storing = storeOutput(services, {
        ownerId,
        jobId,
        attempt: lease.attempt,
        kind,
        nothingGenerated,
        position,
        path: file,
        mime,
        inputFiles,
      });
      stores.push(storing);
      await orAborted(storing, signal);
    }
    signal.throwIfAborted();
  } catch (error) {
    const removed = stores.map(async (storing) => discardOutput(services, (await storing).storageKey));
    await orLate(Promise.allSettled(removed), storeWaitMs, () => []);
    throw error;
  }
  const stored = await Promise.all(stores);
  // From here on the commit may succeed without an answer, so the objects stay: with a row they are the result, without
  // one the sweep removes them.
  const facts = Object.assign({}, ...made.map((output) => output.facts));
  const completed = await persist(() => complete(services, { lease, outputs: stored, facts }), { signal });
  if (completed) {
    noteCompleted(services);
    return "completed";
  }
  await discardOutput(services, ...stored.map(({ storageKey }) => storageKey));
  return "fenced";
}

/** Counts the run for the node; stopped runs are left out, since they are not the node's failures. */
function count(services: Services, { nodeId }: Lease, outcome: Outcome): void {
  if (outcome === "completed" || outcome === "failed")
    countRun(services, { nodeId, failed: outcome === "failed" });
}
