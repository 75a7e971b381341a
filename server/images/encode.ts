import type { SourceFormat } from "./formats/container.ts";
import { boundPngPixels } from "./containers/png-pixels.ts";
import { withPngXmp } from "./containers/png-xmp.ts";
import { decodeMask, decodeOutput, decodePhoto, openPixels, type Pixels } from "./pixels.ts";
import { makeSmallFiles, type SmallFiles } from "./small-files.ts";
import type { StoredMime } from "./image.ts";

/** Every file of one picture, ready to be stored. */
export interface ImageFiles extends SmallFiles {
  readonly original: Buffer;
  readonly mime: StoredMime;
  readonly widthPx: number;
  readonly heightPx: number;
}

interface UploadTask {
  readonly as: "photo" | "mask";
  readonly format: SourceFormat;
  readonly isLossless: boolean;
}

interface OutputTask {
  readonly as: "output";
  readonly mime: StoredMime;
  /** The mark of origin. */
  readonly xmp: string;
  readonly maxPixels: number;
}

/** What is made of a picture's bytes; plain data, since it is sent to a child process. */
export type EncodeTask = UploadTask | OutputTask;

/** Decodes a picture once and makes its files. Throws the codes `upload_*`, `engine_failed` for outputs. */
export async function encodeFiles(bytes: Buffer, task: EncodeTask): Promise<ImageFiles> {
  if (task.as === "output") return encodeOutput(bytes, task);
  if (task.format === "png") await boundPngPixels(bytes);
  return task.as === "mask" ? encodeMask(bytes) : encodePhoto(bytes, task);
}

async function encodePhoto(bytes: Buffer, task: UploadTask): Promise<ImageFiles> {
  const pixels = await decodePhoto(bytes);
  const [original, small] = await Promise.all([encodeOriginal(pixels, task), makeSmallFiles(pixels)]);
  return { ...original, ...small, widthPx: pixels.widthPx, heightPx: pixels.heightPx };
}

/** One grey channel, lossless, white = change. */
async function encodeMask(bytes: Buffer): Promise<ImageFiles> {
  const pixels = await decodeMask(bytes);
  const grey = openPixels(pixels).toColourspace("b-w").png();
  const [original, small] = await Promise.all([grey.toBuffer(), makeSmallFiles(pixels)]);
  return { original, mime: "image/png", ...small, widthPx: pixels.widthPx, heightPx: pixels.heightPx };
}

async function encodeOutput(bytes: Buffer, { mime, xmp, maxPixels }: OutputTask): Promise<ImageFiles> {
  const pixels = await decodeOutput(bytes, maxPixels);
  const [png, small] = await Promise.all([
    mime === "image/png" ? bytes : openPixels(pixels).png().toBuffer(),
    makeSmallFiles(pixels, xmp),
  ]);
  const { widthPx, heightPx } = pixels;
  return { original: withPngXmp(png, xmp), mime: "image/png", ...small, widthPx, heightPx };
}

/** The longest side that WebP can hold; AVIF holds longer ones. */
const webpSidePx = 16_383;

/** Above this size, lossless pictures are stored as PNG: lossless WebP takes 0.6 s of CPU time per megapixel. */
const losslessWebpPixels = 2_000_000;

type Original = Pick<ImageFiles, "original" | "mime">;

async function encodeOriginal(pixels: Pixels, { format, isLossless }: UploadTask): Promise<Original> {
  const picture = openPixels(pixels);
  if (format !== "jpeg" && isUnfitForWebp(pixels, isLossless))
    return { original: await picture.png().toBuffer(), mime: "image/png" };
  switch (format) {
    case "jpeg":
      return {
        original: await picture.jpeg({ quality: 93, chromaSubsampling: "4:4:4" }).toBuffer(),
        mime: "image/jpeg",
      };
    case "png":
      return { original: await picture.png().toBuffer(), mime: "image/png" };
    case "webp":
    case "avif": {
      const options = isLossless ? { lossless: true, exact: true } : { quality: 93 };
      return { original: await picture.webp(options).toBuffer(), mime: "image/webp" };
    }
  }
}

function isUnfitForWebp({ widthPx, heightPx }: Pixels, isLossless: boolean): boolean {
  return Math.max(widthPx, heightPx) > webpSidePx || (isLossless && widthPx * heightPx > losslessWebpPixels);
}
