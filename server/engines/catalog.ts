import { pictureLimits } from "../platform/picture-limits.ts";
import type { JobKind } from "./kinds.ts";

/** What an engine can do; no I/O, so that web and worker agree on it. */
export interface EngineFacts {
  readonly name: string;
  readonly kinds: readonly JobKind[];
}

/** The engine that ships with the product and needs nothing but the CPU. */
export const localEngine: EngineFacts = {
  name: "local",
  kinds: ["outfit_change", "upscale", "inpaint", "remove_background"],
};

export const engines: readonly EngineFacts[] = [localEngine];

/** A result has at most this many pixels, said before submit and checked again by the engine. */
export const maxOutputPixels = pictureLimits.outputMegapixels * 1_000_000;
