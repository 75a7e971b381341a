import { access } from "node:fs/promises";
import path from "node:path";
import sharp from "sharp";
import { maxOutputPixels } from "@atelier/server/engines";
import { AppError } from "@atelier/server/platform";
import type { EngineContext } from "../port.ts";
import { type ComfyServer, type OutputFile, viewImage } from "./client/index.ts";

/** Four bytes a pixel is more than a PNG of it takes. */
const maxBytes = maxOutputPixels * 4;
/** More pictures of one run are not fetched. */
const mostPictures = 8;
const formats = new Set(["png", "jpeg", "webp"]);

interface Fetch {
  readonly files: readonly OutputFile[];
  readonly workDir: string;
  readonly signal: AbortSignal;
}

/**
 * Downloads what a run made; paths of files that are pictures of a size that can be stored. Throws `engine_failed` when
 * there is none or one is no picture, `output_too_large`.
 */
export async function fetchPictures(
  server: ComfyServer,
  { files, workDir, signal }: Fetch,
): Promise<string[]> {
  if (files.length === 0) throw new AppError("engine_failed", "The server made no picture.");
  const paths: string[] = [];
  for (const [position, file] of files.slice(0, mostPictures).entries()) {
    const target = path.join(workDir, `fetched-${position}`);
    await viewImage(server, { file, target, maxBytes }, { signal });
    await requirePicture(target);
    paths.push(target);
  }
  return paths;
}

async function requirePicture(file: string): Promise<void> {
  const facts = await sharp(file, { limitInputPixels: maxOutputPixels }).metadata().catch(refuse);
  if (!formats.has(facts.format)) return refuse();
  if (facts.width * facts.height > maxOutputPixels) throw new AppError("output_too_large");
}

/** A file that was cut off is found when its pixels are read. */
export async function requirePixels(file: string): Promise<void> {
  // A file that our own disk does not give is not the server's fault.
  await access(file);
  await sharp(file, { limitInputPixels: maxOutputPixels }).stats().catch(refuse);
}

function refuse(cause?: unknown): never {
  throw new AppError("engine_failed", "The server's answer is no picture.", { cause });
}

/** Larger ones cost more than a look at the unfinished picture is worth. */
const mostBytes = 2 * 1024 * 1024;

/** Passes on the previews of one run. */
export function forwardPreviews({
  signal,
  onPreview,
}: Pick<EngineContext, "signal" | "onPreview">): (bytes: Uint8Array) => void {
  return (bytes) => {
    if (bytes.byteLength > mostBytes || signal.aborted) return;
    onPreview(() => makePreview(bytes));
  };
}

const previewSidePx = 384;
const limitInputPixels = 4_096 * 4_096;
const previewFormats = new Set(["png", "jpeg", "webp"]);

/** A small JPEG of what a server sent; null when that is no picture. Its bytes go to browsers, so they are made anew. */
async function makePreview(bytes: Uint8Array): Promise<Uint8Array | null> {
  try {
    const picture = sharp(bytes, { limitInputPixels });
    if (!previewFormats.has((await picture.metadata()).format)) return null;
    return await picture
      .resize(previewSidePx, previewSidePx, { fit: "inside", withoutEnlargement: true })
      .flatten({ background: "#ffffff" })
      .jpeg({ quality: 70 })
      .toBuffer();
  } catch {
    return null;
  }
}
