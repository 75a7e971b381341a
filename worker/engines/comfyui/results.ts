import { access } from "node:fs/promises";
import path from "node:path";
import sharp from "sharp";
import { maxOutputPixels } from "@atelier/server/engines";
import { AppError } from "@atelier/server/platform";
import type { EngineContext } from "../port.ts";
import { type ComfyServer, type OutputFile, viewImage } from "./client/index.ts";

/** No PNG of the greatest size needs more than four bytes per pixel. */
const maxBytes = maxOutputPixels * 4;
/** Further pictures of one run are not fetched. */
const maxPictures = 8;
const formats = new Set(["png", "jpeg", "webp"]);

interface Fetch {
  readonly files: readonly OutputFile[];
  readonly workDir: string;
  readonly signal: AbortSignal;
}

/**
 * Downloads the pictures of a run and returns their paths. Throws `engine_failed` when there is none or a file is not a
 * picture, and `output_too_large`.
 */
export async function fetchPictures(
  server: ComfyServer,
  { files, workDir, signal }: Fetch,
): Promise<string[]> {
  if (files.length === 0) throw new AppError("engine_failed", "The server made no picture.");
  const paths: string[] = [];
  for (const [position, file] of files.slice(0, maxPictures).entries()) {
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

/** Reads all pixels, which finds a truncated file. Throws `engine_failed`. */
export async function requirePixels(file: string): Promise<void> {
  // An error of our own disk is not the server's fault.
  await access(file);
  await sharp(file, { limitInputPixels: maxOutputPixels }).stats().catch(refuse);
}

function refuse(cause?: unknown): never {
  throw new AppError("engine_failed", "The server's answer is not a picture.", { cause });
}

/** Larger previews are dropped: decoding them costs too much. */
const maxPreviewBytes = 2 * 1024 * 1024;

/** Passes on the previews of one run. */
export function forwardPreviews({
  signal,
  onPreview,
}: Pick<EngineContext, "signal" | "onPreview">): (bytes: Uint8Array) => void {
  return (bytes) => {
    if (bytes.byteLength > maxPreviewBytes || signal.aborted) return;
    onPreview(() => makePreview(bytes));
  };
}

const previewSidePx = 384;
const limitInputPixels = 4_096 * 4_096;
const previewFormats = new Set(["png", "jpeg", "webp"]);

/** A small JPEG of a server's preview; null when it is not a picture. Encoded again, since its bytes go to browsers. */
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
