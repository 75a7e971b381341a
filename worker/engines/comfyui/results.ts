import { readFile, writeFile } from "node:fs/promises";
import path from "node:path";
import sharp from "sharp";
import { maxOutputPixels } from "@atelier/server/engines";
import { withoutBombs } from "@atelier/server/images";
import { AppError, foreignText, isAppError, undecodedFile } from "@atelier/server/platform";
import { encodePreview } from "../pictures.ts";
import type { EngineContext } from "../port.ts";
import { type ComfyServer, type OutputFile, viewImage } from "../../clients/comfyui/index.ts";

/** No PNG of the greatest size needs more than four bytes per pixel. */
const maxBytes = maxOutputPixels * 4;
/** Further pictures of one run are not fetched. */
const maxPictures = 8;
const formats = new Set(["png", "jpeg", "webp"]);
/** Of nodes that save for print and high bit depth. */
const rarerFormats = new Set(["heif", "tiff"]);
const pictureNames = /\.(a?png|jpe?g|jfif|webp)$/i;
const rarerNames = /\.(avif|tiff?)$/i;

interface Fetch {
  readonly files: readonly OutputFile[];
  /** The output nodes of the workflow, as `9 (SaveImage)`. */
  readonly nodes: string;
  readonly workDir: string;
  readonly signal: AbortSignal;
}

/**
 * Downloads the pictures of a run and returns their paths; files of other kinds beside them, such as a film or a text, or
 * the same pictures for print, are left out. Throws `no_picture` when there is none, which is so each time, `engine_failed` for a damaged file, and
 * `output_too_large`.
 */
export async function fetchPictures(
  server: ComfyServer,
  { files, nodes, workDir, signal }: Fetch,
): Promise<string[]> {
  if (files.length === 0)
    throw new AppError("no_picture", `The workflow made no file at its output, node ${nodes}.`);
  const named = [pictureNames, rarerNames].map((names) =>
    files.filter(({ filename }) => names.test(filename)),
  );
  const pictures = named.find(({ length }) => length > 0);
  if (!pictures) throw notAPicture(path.extname(files[0]?.filename ?? "").slice(1), nodes);
  const paths: string[] = [];
  for (const [position, file] of pictures.slice(0, maxPictures).entries()) {
    const target = path.join(workDir, `fetched-${position}`);
    await viewImage(server, { file, target, maxBytes }, { signal });
    await disarm(target);
    await requirePicture(target, nodes);
    paths.push(target);
  }
  return paths;
}

/** What a node made instead of a picture. */
function notAPicture(kind: string, nodes: string): AppError {
  const what = foreignText.parse(kind).slice(0, 20);
  return new AppError(
    "no_picture",
    `The workflow made a file of the kind "${what}" at node ${nodes}, and no PNG, JPEG, WebP, AVIF or TIFF.`,
  );
}

/** Takes out of the file what no decoder should inflate. Throws `engine_failed` for a damaged PNG. */
async function disarm(file: string): Promise<void> {
  const bytes = await readFile(file);
  const harmless = await Promise.try(withoutBombs, bytes).catch(refuse);
  if (harmless !== bytes) await writeFile(file, harmless);
}

async function requirePicture(file: string, nodes: string): Promise<void> {
  const read = sharp(file, { limitInputPixels: maxOutputPixels }).metadata();
  const facts = await read.catch((cause: unknown) => refuseFile(file, cause));
  if (!formats.has(facts.format) && !rarerFormats.has(facts.format)) throw notAPicture(facts.format, nodes);
  if (facts.width * facts.height > maxOutputPixels) throw new AppError("output_too_large");
}

/** Reads all pixels, which finds a truncated file. Throws `engine_failed`. */
export async function requirePixels(file: string): Promise<void> {
  const read = sharp(file, { limitInputPixels: maxOutputPixels }).stats();
  await read.catch((cause: unknown) => refuseFile(file, cause));
}

/** What our own disk or memory lacks is not the server's fault. */
async function refuseFile(file: string, cause: unknown): Promise<never> {
  const error = await undecodedFile(file, "engine_failed", cause);
  if (isAppError(error) && error.code === "engine_failed") refuse(cause);
  throw error;
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

const limitInputPixels = 4_096 * 4_096;

/** A small JPEG of a server's preview; null when it is not a picture. Encoded again, since its bytes go to browsers. */
async function makePreview(bytes: Uint8Array): Promise<Uint8Array | null> {
  try {
    const picture = sharp(withoutBombs(Buffer.from(bytes)), { limitInputPixels });
    if (!formats.has((await picture.metadata()).format)) return null;
    return await encodePreview(picture);
  } catch {
    return null;
  }
}
