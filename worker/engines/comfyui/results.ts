import { access } from "node:fs/promises";
import path from "node:path";
import { viewImage, type ComfyServer, type OutputFile } from "./client/index.ts";
import { maxOutputPixels } from "@atelier/server/engines";
import { AppError } from "@atelier/server/platform";
import sharp from "sharp";

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
