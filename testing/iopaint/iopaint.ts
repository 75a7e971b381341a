import type { Frame } from "../comfyui/pictures.ts";
import type { IopaintFaultBox } from "./fault.ts";

/** How often something was done. */
export interface IopaintStats {
  inpaints: number;
  /** Plugin name to runs. */
  readonly plugins: Record<string, number>;
  failures: number;
  /** The most computations that were under way at once. */
  mostAtOnce: number;
}

/** A simulated IOPaint. It keeps requests apart no better than the real one. */
export interface Iopaint {
  readonly workMs: number;
  readonly models: readonly string[];
  readonly plugins: readonly string[];
  readonly faults: IopaintFaultBox;
  readonly stats: IopaintStats;
  readonly pluginModels: Record<string, string>;
  model: string;
  /** Computations that are under way. */
  inside: number;
  /** The picture that a plugin works on, by plugin: there is one instance of each, which all requests share. */
  readonly shared: Map<string, Frame>;
  /** Aborted by a kill: what is being computed is lost. */
  end: AbortController;
}
