import { maxOutputPixels } from "../engines.ts";
import { createPermits, type Weight, type WithPermit } from "../platform/index.ts";
import { provenanceXmp } from "../safety.ts";
import { encodeInChild } from "./encode-in-child.ts";
import { encodeFiles, type EncodeTask, type ImageFiles } from "./encode.ts";
import type { Container } from "./formats/container.ts";
import type { IngestInput, StoreOutputInput, UploadNote } from "./image.ts";
import { inspect, longerSideToKeep } from "./inspect.ts";
import { countOutputPixels } from "./output-bytes.ts";

/** Held while a file's bytes or pixels are in memory: two pictures at once in one process, one of them heavy. */
export const withFilePermit: WithPermit = createPermits({ slots: 2, heavySlots: 1 });

/** The plan for a file, decided by its header: light work runs in this process, heavy work in a child process. */
export interface FilesPlan {
  readonly task: EncodeTask;
  readonly weight: Weight;
  /** What is not kept of the file, for the person who sent it. */
  readonly notes: readonly UploadNote[];
}

/**
 * Largest light pictures: a second of CPU time at most. The others are never light: their pictures can be larger than the
 * header declares, or their decoder needs a process of its own.
 */
const lightPixels = {
  jpeg: 16_000_000,
  png: 9_000_000,
  webp: 9_000_000,
  avif: 0,
  heic: 0,
  gif: 0,
  tiff: 0,
} as const;
const lightOddPixels = 1_000_000;
/** Pixels times passes. */
const lightWork = 40_000_000;
/** More chunks or segments than programs write into a picture of light size. */
const lightParts = 4_000;
const lightOutputPixels = 16_000_000;

/** Checks an upload by its structure and plans its files. Decodes nothing. Throws the codes `upload_*`. */
export async function planUpload(
  bytes: Buffer,
  { role, scaleDown = false }: Pick<IngestInput, "role" | "scaleDown">,
): Promise<FilesPlan> {
  const container = await inspect(bytes, { scaleDown });
  const { format, isLossless, isCut, colour, isAnimated, sideChannels } = container;
  const as = role === "mask" ? "mask" : "photo";
  const longerSidePx = scaleDown ? longerSideToKeep(container) : null;
  const notes = [
    ...(isAnimated ? ["first_picture" as const] : []),
    ...(isCut ? ["end_missing" as const] : []),
    ...(longerSidePx === null ? [] : ["scaled_down" as const]),
  ];
  const task = { as, format, isLossless, isCut, isAnimated, sideChannels, colour, longerSidePx } as const;
  return { task, weight: weightOf(container), notes };
}

interface PlannedOutput extends Pick<StoreOutputInput, "mime" | "kind" | "nothingGenerated"> {
  readonly mark: number | null;
}

/** Plans the files of an engine's result. Throws `engine_failed` when the result is no image. */
export async function planOutput(
  bytes: Buffer,
  { mime, kind, nothingGenerated, mark }: PlannedOutput,
): Promise<FilesPlan> {
  const pixels = await countOutputPixels(bytes);
  return {
    task: {
      as: "output",
      mime,
      xmp: provenanceXmp(nothingGenerated === true ? null : kind),
      maxPixels: maxOutputPixels,
      mark,
    },
    weight: pixels > lightOutputPixels ? "heavy" : "light",
    notes: [],
  };
}

/**
 * Makes the files that are stored: decoded once, uploads turned upright, in sRGB, without metadata. Touches neither store
 * nor database. Throws the codes `upload_*`, `engine_failed` for outputs; aborting ends the child.
 */
export function makeFiles(bytes: Buffer, plan: FilesPlan, signal?: AbortSignal): Promise<ImageFiles> {
  return plan.weight === "heavy"
    ? encodeInChild(bytes, plan.task, { signal })
    : encodeFiles(bytes, plan.task);
}

function weightOf({ format, widthPx, heightPx, passes, parts, isCut, colour }: Container): Weight {
  const pixels = widthPx * heightPx;
  // Converted sample by sample, or decoded twice.
  if (isCut || (colour !== null && pixels > lightOddPixels)) return "heavy";
  const isLight = pixels <= lightPixels[format] && pixels * passes <= lightWork && parts <= lightParts;
  return isLight ? "light" : "heavy";
}
