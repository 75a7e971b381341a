import type { ErrorCode } from "@atelier/server/platform";

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
  /** Runs until it is aborted. */
  readonly hang?: boolean;
}

/**
 * Where a job of a worker stops for ever, after the worker said so, to be killed there. On a server: `uploaded` is before
 * the submission is stored, `noted` between that and the post; `made` is when the result is here but not stored.
 */
export type PausePoint = "fetched" | "claimed" | "running" | "uploaded" | "noted" | "made" | "stored";

/** How `main.ts` is told what to do, as JSON in this variable. */
export interface WorkerOrders {
  readonly script: EngineScript;
  readonly pauseAt: readonly PausePoint[];
  /** The prompt on a server that kills the worker; null for none. */
  readonly dieOn: string | null;
}

export const ordersName = "ATELIER_TEST_WORKER";
