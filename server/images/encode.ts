import { rgbaToThumbHash } from "thumbhash";
import { markPixels } from "../watermark/index.ts";
import {
  collect,
  decodeMask,
  decodeOutput,
  decodePhoto,
  type DecodeTask,
  mend,
  openPixels,
  type Pixels,
} from "./decode.ts";
import { isUsualPng } from "./formats/png.ts";
import { withPngXmp } from "./formats/png-write.ts";
import type { StoredMime } from "./image.ts";
import { previewPx, thumbnailPx } from "./limits.ts";
import { disarmOutput } from "./output-bytes.ts";
import { whitenHidden } from "./transparency.ts";

/** Every file of one picture, ready to be stored. */
export interface ImageFiles extends SmallFiles {
  readonly original: Buffer;
  readonly mime: StoredMime;
  readonly widthPx: number;
  readonly heightPx: number;
  /** It has the watermark that its task asked for. */
  readonly isMarked?: boolean;
}

/** The preview and the thumbnail (WebP) and the thumbhash (base64) of one picture. */
interface SmallFiles {
  readonly preview: Buffer;
  readonly thumbnail: Buffer;
  readonly thumbhash: string;
}

interface UploadTask extends DecodeTask {
  readonly as: "photo" | "mask";
  readonly isLossless: boolean;
}

interface OutputTask {
  readonly as: "output";
  readonly mime: StoredMime;
  /** The mark of origin. */
  readonly xmp: string;
  readonly maxPixels: number;
  /** The number of the watermark; null for none. */
  readonly mark: number | null;
}

/** A task of encoding; plain data, since it is sent to a child process. */
export type EncodeTask = UploadTask | OutputTask;

/** Decodes a picture once and makes its files. Throws the codes `upload_*`, `engine_failed` for outputs. */
export async function encodeFiles(bytes: Buffer, task: EncodeTask): Promise<ImageFiles> {
  if (task.as === "output") return encodeOutput(bytes, task);
  const whole = await mend(bytes, task);
  return task.as === "mask" ? encodeMask(whole, task) : encodePhoto(whole, task);
}

async function encodePhoto(bytes: Buffer, task: UploadTask): Promise<ImageFiles> {
  const pixels = await decodePhoto(bytes, task);
  whitenHidden(pixels);
  const [original, small] = await Promise.all([encodeOriginal(pixels, task), makeSmallFiles(pixels)]);
  return { ...original, ...small, widthPx: pixels.widthPx, heightPx: pixels.heightPx };
}

/** One grey channel, lossless, white = change. */
async function encodeMask(bytes: Buffer, task: UploadTask): Promise<ImageFiles> {
  const pixels = await decodeMask(bytes, task);
  const grey = openPixels(pixels).toColourspace("b-w").png();
  const [original, small] = await Promise.all([grey.toBuffer(), makeSmallFiles(pixels)]);
  return { original, mime: "image/png", ...small, widthPx: pixels.widthPx, heightPx: pixels.heightPx };
}

/** Against the usual 6: half the time for a marked photo, 3 % more bytes. */
const markedLevel = 3;

async function encodeOutput(made: Buffer, { mime, xmp, maxPixels, mark }: OutputTask): Promise<ImageFiles> {
  const bytes = disarmOutput(made);
  const pixels = await decodeOutput(bytes, maxPixels);
  const isWhitened = whitenHidden(pixels);
  const isMarked = mark !== null && (mime !== "image/png" || isUsualPng(bytes)) && markPixels(pixels, mark);
  const mustEncode = isWhitened || isMarked || mime !== "image/png";
  const [png, small] = await Promise.all([
    !mustEncode
      ? bytes
      : openPixels(pixels)
          .png(isMarked ? { compressionLevel: markedLevel } : {})
          .toBuffer(),
    makeSmallFiles(pixels, xmp),
  ]);
  const { widthPx, heightPx } = pixels;
  return { original: withPngXmp(png, xmp), mime: "image/png", ...small, widthPx, heightPx, isMarked };
}

/** The longest side that WebP can hold; AVIF holds longer ones. */
export const webpSidePx = 16_383;

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
    case "gif":
    case "tiff":
    case "heic":
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

const thumbhashPx = 100;

/** Makes each smaller size from the next larger one, so that the full picture is read once. `xmp` is embedded in both. */
async function makeSmallFiles(pixels: Pixels, xmp?: string): Promise<SmallFiles> {
  const previewPixels = await shrink(pixels, previewPx);
  // Beside each other: to encode the preview takes longer than all of the thumbnail.
  const [preview, smallest] = await Promise.all([
    encodeWebp(previewPixels, xmp),
    makeThumbnail(previewPixels, xmp),
  ]);
  return { preview, ...smallest };
}

async function makeThumbnail(
  pixels: Pixels,
  xmp: string | undefined,
): Promise<Pick<SmallFiles, "thumbnail" | "thumbhash">> {
  const thumbnailPixels = await shrink(pixels, thumbnailPx);
  const [thumbnail, thumbhash] = await Promise.all([
    encodeWebp(thumbnailPixels, xmp),
    thumbhashOf(thumbnailPixels),
  ]);
  return { thumbnail, thumbhash };
}

/** The picture at most `longerSidePx` long; the same pixels when it is smaller already. */
async function shrink(pixels: Pixels, longerSidePx: number): Promise<Pixels> {
  if (Math.max(pixels.widthPx, pixels.heightPx) <= longerSidePx) return pixels;
  return collect(openPixels(pixels).resize(longerSidePx, longerSidePx, { fit: "inside" }));
}

/** Against an effort of 2 with a quality of 82: half the time, 5 to 12 % more bytes, 0.3 dB less at most. */
function encodeWebp(pixels: Pixels, xmp: string | undefined): Promise<Buffer> {
  const picture = openPixels(pixels);
  return (xmp ? picture.withXmp(xmp) : picture).webp({ quality: 80, effort: 0 }).toBuffer();
}

async function thumbhashOf(pixels: Pixels): Promise<string> {
  const small = openPixels(pixels).resize(thumbhashPx, thumbhashPx, {
    fit: "inside",
    withoutEnlargement: true,
  });
  const rgba = await collect(small.toColourspace("srgb").ensureAlpha());
  return Buffer.from(rgbaToThumbHash(rgba.widthPx, rgba.heightPx, rgba.data)).toString("base64");
}
