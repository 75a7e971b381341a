import { writeFile } from "node:fs/promises";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import sharp from "sharp";
import { jobKinds, localEngine } from "@atelier/server/engines";
import { AppError, type ErrorCode } from "@atelier/server/platform";
import type { Engine, EngineContext, EngineOutput, EngineTask } from "@atelier/worker/engines";

/** An engine whose process is gone (kill -9) as soon as a job with this prompt is at work on a server. */
export function dieOn(prompt: string, engine: Engine): Engine {
  return {
    ...engine,
    run: (task, context) => {
      if (task.params["prompt"] !== prompt) return engine.run(task, context);
      return engine.run(task, {
        ...context,
        onProgress(_fraction, stage) {
          if (stage !== "preparing") process.kill(process.pid, "SIGKILL");
        },
      });
    },
  };
}

/**
 * What the simulated engine does with one job; written into the job's params under `simulate` by `addJob`, or for all
 * jobs of a worker by `startTestWorker`. Without any of it the run takes `runMs` and succeeds.
 */
export interface EngineScript {
  /** How long the run takes before it ends, in ms; 20 by default. Aborting cuts it short. */
  readonly runMs?: number;
  /** Busy-blocks the main thread for this long first. */
  readonly blockMs?: number;
  /** Fails with this code, the first `failTimes` runs in this process (by default each). */
  readonly failCode?: ErrorCode;
  readonly failTimes?: number;
  /** Kills its own process with SIGKILL. */
  readonly die?: boolean;
  /** Runs until it is aborted, or until `release` of its worker. */
  readonly hang?: boolean;
}

/**
 * Where a job of a worker stops for ever, after the worker said so, to be killed there. On a server: `uploaded` is before
 * the submission is stored, `noted` between that and the post; `made` is when the result is here but not stored. At a
 * provider: `reserved` is before the call, `answered` after it, `asked` before the first question about the run.
 * `completed` is after the commit that ends the job, before anybody is told.
 */
export type PausePoint =
  | "fetched"
  | "claimed"
  | "running"
  | "uploaded"
  | "noted"
  | "reserved"
  | "answered"
  | "asked"
  | "made"
  | "stored"
  | "completed";

/** How `main.ts` is told what to do, as JSON in this variable. */
export interface WorkerOrders {
  readonly script: EngineScript;
  readonly pauseAt: readonly PausePoint[];
  /** The prompt on a server that kills the worker; null for none. */
  readonly dieOn: string | null;
}

/** Ends the runs of a worker that `hang`, and at once those to come. */
export const releaseSignal = "SIGUSR2";

export const ordersName = "ATELIER_TEST_WORKER";

const defaultRunMs = 20;
const resultPx = 8;

/** Prints one line for the test that started the process. */
export type Say = (line: string) => void;

/**
 * A SIMULATOR that stands in for the local engine: no picture is worked on, the result is one plain colour. It takes
 * over the local engine's name, because jobs are placed on that engine.
 */
export function createSimulatedEngine(standing: EngineScript, say: Say): Engine {
  const runsByJob = new Map<string, number>();
  const released = new Promise<void>((resolve) => process.on(releaseSignal, () => resolve()));
  return {
    name: localEngine.name,
    kinds: jobKinds,
    async run(task, context) {
      const run = (runsByJob.get(task.jobId) ?? 0) + 1;
      runsByJob.set(task.jobId, run);
      say(`engine-start ${task.jobId}`);
      try {
        const outputs = await act({ ...standing, ...readScript(task) }, run, { task, context, released });
        say(`engine-done ${task.jobId}`);
        return outputs;
      } catch (error) {
        say(`engine-stopped ${task.jobId}`);
        throw error;
      }
    },
    close: () => Promise.resolve(),
  };
}

function readScript({ params }: EngineTask): EngineScript {
  // Safe: tests alone write this param, through `addJob`, which takes an EngineScript.
  return (params["simulate"] ?? {}) as EngineScript;
}

interface Run {
  readonly task: EngineTask;
  readonly context: EngineContext;
  readonly released: Promise<void>;
}

async function act(
  script: EngineScript,
  run: number,
  { task, context, released }: Run,
): Promise<readonly EngineOutput[]> {
  const { signal } = context;
  context.onProgress(0.1, "upscaling");
  if (script.die) process.kill(process.pid, "SIGKILL");
  if (script.blockMs) blockMainThread(script.blockMs);
  // Its timer is no reason to live on after the release.
  const rests = script.hang
    ? Promise.race([released, sleep(2 ** 31 - 1, undefined, { signal, ref: false })])
    : sleep(script.runMs ?? defaultRunMs, undefined, { signal });
  await rests.catch(() => {
    throw signal.reason;
  });
  if (script.failCode && run <= (script.failTimes ?? Infinity)) throw new AppError(script.failCode);
  context.onProgress(0.9, "upscaling");
  return [await makeResult(task)];
}

function blockMainThread(blockMs: number): void {
  const endMs = performance.now() + blockMs;
  while (performance.now() < endMs);
}

async function makeResult({ workDir, jobId }: EngineTask): Promise<EngineOutput> {
  const file = path.join(workDir, "result.png");
  const hue = Number.parseInt(jobId.slice(-2), 16);
  const create = {
    width: resultPx,
    height: resultPx,
    channels: 3 as const,
    background: { r: hue, g: 90, b: 60 },
  };
  await writeFile(file, await sharp({ create }).png().toBuffer());
  return { path: file, mime: "image/png", facts: { simulated: true } };
}
