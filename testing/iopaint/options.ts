import type { Guard } from "../comfyui/options.ts";
import type { Frame } from "../comfyui/pictures.ts";
import type { IopaintFaultBox } from "./faults.ts";

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
  readonly guard: Guard | null;
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

/** What a simulated IOPaint is like; everything has a default. */
export interface IopaintOptions {
  /** 0 (the default) takes a free port. */
  readonly port?: number;
  /** Time of one request that computes; 0 by default. */
  readonly workMs?: number;
  /** The model at start; "lama" by default. */
  readonly model?: string;
  /** Models that can be switched to. */
  readonly models?: readonly string[];
  /** What the proxy in front wants; nothing by default. */
  readonly guard?: Guard;
  /** Plugins that are on; all by default. */
  readonly plugins?: readonly string[];
}

export interface PluginFact {
  readonly makesImage: boolean;
  readonly makesMask: boolean;
}

/** The plugins of IOPaint 1.6 and what they can answer. */
export const pluginFacts: Readonly<Record<string, PluginFact>> = {
  RemoveBG: { makesImage: true, makesMask: true },
  AnimeSeg: { makesImage: true, makesMask: true },
  RealESRGAN: { makesImage: true, makesMask: false },
  GFPGAN: { makesImage: true, makesMask: false },
  RestoreFormer: { makesImage: true, makesMask: false },
  InteractiveSeg: { makesImage: false, makesMask: true },
};

/** Models that erase, without words; every other one needs a prompt. */
export const eraseModels: readonly string[] = ["lama", "ldm", "zits", "mat", "fcf", "manga", "cv2", "migan"];
