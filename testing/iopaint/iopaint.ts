import type { IopaintFaultBox } from "./fault.ts";

/** How often something was done. */
export interface IopaintStats {
  inpaints: number;
  /** Plugin name to runs. */
  readonly plugins: Record<string, number>;
  failures: number;
  /** The most requests that were inside at once, the waiting ones included. */
  mostAtOnce: number;
}

/** A simulated IOPaint: one computation at a time. */
export interface Iopaint {
  readonly workMs: number;
  readonly models: readonly string[];
  readonly plugins: readonly string[];
  readonly faults: IopaintFaultBox;
  readonly stats: IopaintStats;
  readonly pluginModels: Record<string, string>;
  model: string;
  waiting: number;
  /** Ends when the computation before has ended. */
  last: Promise<unknown>;
  /** Aborted by a kill: what is being computed is lost. */
  end: AbortController;
}
