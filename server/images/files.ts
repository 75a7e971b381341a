import { maxOutputPixels } from "../engines/index.ts";
import { provenanceXmp } from "../safety/index.ts";
import type { Container } from "./formats/container.ts";
import { encodeInChild } from "./encode-in-child.ts";
import { encodeFiles, type EncodeTask, type ImageFiles } from "./encode.ts";
import { inspect } from "./inspect.ts";
import { countOutputPixels } from "./pixels.ts";
import type { Weight } from "./decode-slot.ts";
import type { IngestInput, StoreOutputInput } from "./image.ts";

/** What will be made of a file, decided by its header: light work in this process, heavy work in a child process. */
export interface FilesPlan {
  readonly task: EncodeTask;
  readonly weight: Weight;
}

/** Largest light pictures: a second of CPU time at most. AVIF is never light, since its frames can be larger than it says. */
const lightPixels = { jpeg: 16_000_000, png: 9_000_000, webp: 9_000_000, avif: 0 } as const;
/** Pixels times passes. */
const lightWork = 40_000_000;
/** More chunks or segments than programs write into a picture of light size. */
const lightParts = 4_000;
const lightOutputPixels = 16_000_000;

/** Checks an upload by its structure and plans its files. Decodes nothing. Throws the codes `upload_*`. */
export async function planUpload(bytes: Buffer, role: IngestInput["role"]): Promise<FilesPlan> {
  const container = await inspect(bytes);
  const { format, isLossless } = container;
  const as = role === "mask" ? "mask" : "photo";
  return { task: { as, format, isLossless }, weight: weightOf(container) };
}

/** Plans the files of what an engine made. Throws `engine_failed` when that is no picture. */
export async function planOutput(
  bytes: Buffer,
  { mime, kind }: Pick<StoreOutputInput, "mime" | "kind">,
): Promise<FilesPlan> {
  const pixels = await countOutputPixels(bytes);
  return {
    task: { as: "output", mime, xmp: provenanceXmp(kind), maxPixels: maxOutputPixels },
    weight: pixels > lightOutputPixels ? "heavy" : "light",
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

function weightOf({ format, widthPx, heightPx, passes, parts }: Container): Weight {
  const pixels = widthPx * heightPx;
  const isLight = pixels <= lightPixels[format] && pixels * passes <= lightWork && parts <= lightParts;
  return isLight ? "light" : "heavy";
}
