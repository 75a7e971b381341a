import { pictureLimits } from "./platform/picture-limits.ts";
import type { JobKind } from "./engines/kinds.ts";

export type EngineName = "comfyui" | "iopaint" | "local";

/** What an engine can do; no I/O, so that web and worker agree on it. */
export interface EngineFacts {
  readonly name: EngineName;
  readonly kinds: readonly JobKind[];
}

/** The engine that ships with the product and needs nothing but the CPU. */
export const localEngine: EngineFacts = {
  name: "local",
  kinds: ["outfit_change", "upscale", "inpaint", "remove_background"],
};

/** Runs workflows on ComfyUI servers; which of the kinds a server can run depends on its nodes and models. */
export const comfyuiEngine: EngineFacts = {
  name: "comfyui",
  kinds: ["text_to_image", "outfit_change", "inpaint", "upscale", "edit"],
};

/** Which of the kinds an IOPaint server can run depends on its model and plugins. */
export const iopaintEngine: EngineFacts = {
  name: "iopaint",
  kinds: ["inpaint", "upscale", "remove_background", "restore_faces"],
};

export const engines: readonly EngineFacts[] = [comfyuiEngine, iopaintEngine, localEngine];
export const engineNames = ["comfyui", "iopaint", "local"] as const satisfies readonly EngineName[];

/** A result has at most this many pixels, said before submit and checked again by the engine. */
export const maxOutputPixels = pictureLimits.outputMegapixels * 1_000_000;
