import sharp, { type Sharp } from "sharp";
import { rgbaToThumbHash } from "thumbhash";
import { AppError } from "../platform/errors.ts";
import { markPixels } from "../watermark/index.ts";
import { type SourceFormat, unreadable } from "./formats/container.ts";
import { type ColourTag, toSrgb } from "./colour.ts";
import { withAvifBrand } from "./formats/heif.ts";
import { boundPngPixels, isUsualPng, plainPng } from "./formats/png.ts";
import { disarmOutput } from "./output-bytes.ts";
import { withPngXmp } from "./formats/png-write.ts";
import { withJpegEnd } from "./formats/jpeg.ts";
import { withMainPicture } from "./formats/simple.ts";
import type { StoredMime } from "./image.ts";
import { previewPx, thumbnailPx, uploadLimits } from "./limits.ts";
import { markByAlpha, whitenHidden } from "./transparency.ts";

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

interface UploadTask {
  readonly as: "photo" | "mask";
  readonly format: SourceFormat;
  readonly isLossless: boolean;
  /** The file's end is missing; a few rows may be. */
  readonly isCut: boolean;
  readonly colour: ColourTag | null;
  /** The longer side that is kept; null keeps the size. */
  readonly longerSidePx: number | null;
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

/** The bytes that the decoder gets. Throws `upload_unreadable`. */
async function mend(bytes: Buffer, { format, isCut }: UploadTask): Promise<Buffer> {
  if (format === "png") {
    await boundPngPixels(bytes, isCut);
    return plainPng(bytes);
  }
  if (format === "tiff") return withMainPicture(bytes);
  if (format !== "jpeg" || !isCut) return format === "avif" ? withAvifBrand(bytes) : bytes;
  const ended = withJpegEnd(bytes);
  if ((await countMissingRows(ended)) > uploadLimits.missingShare) throw unreadable("truncated");
  return ended;
}

/** The decoder of JPEG fills what is missing with this grey. */
const missingGrey = 128;
const greyReach = 2;

/** The share of the rows at the end that hold nothing but the grey of missing data. */
async function countMissingRows(jpeg: Buffer): Promise<number> {
  const { data, widthPx, heightPx, channels } = await decode(
    sharp(jpeg, { failOn: "none", limitInputPixels: uploadLimits.scalablePixels, ignoreIcc: true }),
  );
  const rowBytes = widthPx * channels;
  const isMissing = (row: number) =>
    data
      .subarray(row * rowBytes, (row + 1) * rowBytes)
      .every((sample) => Math.abs(sample - missingGrey) <= greyReach);
  let row = heightPx;
  while (row > 0 && isMissing(row - 1)) row -= 1;
  return (heightPx - row) / heightPx;
}

/** Decoded pixels: 8 bits, sRGB (or one grey channel), rows from the top. */
interface Pixels {
  readonly data: Buffer;
  readonly widthPx: number;
  readonly heightPx: number;
  readonly channels: 1 | 2 | 3 | 4;
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

/** Decodes an upload once: orientation applied, colours in sRGB, nothing else of the file kept. Throws `upload_unreadable`. */
async function decodePhoto(bytes: Buffer, task: UploadTask): Promise<Pixels> {
  if (task.colour === null) return decode((await openInSrgb(bytes, task)).toColourspace("srgb"));
  // Codes count before a profile. The samples stay as they are until they are converted here.
  const { depth } = await sharp(bytes, { limitInputPixels: uploadLimits.scalablePixels }).metadata();
  const isDeep = depth === "ushort";
  const read = openFile(bytes, task, true).toColourspace(isDeep ? "rgb16" : "srgb");
  const found = await decode(read, isDeep ? "ushort" : "uchar");
  const { data, channels } = found;
  const samples = isDeep ? new Uint16Array(data.buffer, data.byteOffset, data.length / 2) : data;
  return { ...found, data: toSrgb({ data: samples, channels }, task.colour) };
}

/** sharp applies the profile of a picture of 16 bits only where it is to write another one. */
async function openInSrgb(bytes: Buffer, task: UploadTask): Promise<Sharp> {
  const picture = openFile(bytes, task);
  if (task.format !== "png" && task.format !== "tiff") return picture;
  // Of the header alone; the pixels are decoded once.
  const { depth, hasProfile } = await picture.metadata().catch((cause: unknown) => {
    throw new AppError("upload_unreadable", undefined, { cause });
  });
  return depth === "ushort" && hasProfile ? picture.withIccProfile("srgb") : picture;
}

/** Decodes a mask to one grey channel: by its alpha (`markByAlpha`), else by luminance with transparent as black. */
async function decodeMask(bytes: Buffer, task: UploadTask): Promise<Pixels> {
  const pixels = await decode(openFile(bytes, task).toColourspace("srgb"));
  const { data, widthPx, heightPx, channels } = pixels;
  const marks = markByAlpha({ data, channels, width: widthPx, height: heightPx });
  if (marks) return { data: Buffer.from(marks.buffer), widthPx, heightPx, channels: 1 };
  return collect(openPixels(pixels).flatten({ background: "#000000" }).greyscale().toColourspace("b-w"));
}

/** Decodes an engine's result of at most `maxPixels`. Throws `engine_failed` when the result is no image. */
async function decodeOutput(bytes: Buffer, maxPixels: number): Promise<Pixels> {
  try {
    return await collect(sharp(bytes, { limitInputPixels: maxPixels }).toColourspace("srgb"));
  } catch (cause) {
    throw new AppError("engine_failed", undefined, { cause });
  }
}

async function decode(pipeline: Sharp, depth?: SampleDepth): Promise<Pixels> {
  try {
    return await collect(pipeline, depth);
  } catch (cause) {
    throw new AppError("upload_unreadable", undefined, { cause });
  }
}

/** "error" refuses truncated and damaged pixels but not the odd marker that cameras write. */
function openFile(bytes: Buffer, { isCut, longerSidePx }: UploadTask, ignoreIcc = false): Sharp {
  const picture = sharp(bytes, {
    failOn: isCut ? "none" : "error",
    limitInputPixels: uploadLimits.scalablePixels,
    autoOrient: true,
    ignoreIcc,
  }).timeout({ seconds: uploadLimits.decodeSeconds });
  if (longerSidePx === null) return picture;
  return picture.resize(longerSidePx, longerSidePx, { fit: "inside", withoutEnlargement: true });
}

/** Starts a pipeline from decoded pixels. */
function openPixels({ data, widthPx, heightPx, channels }: Pixels): Sharp {
  return sharp(data, { raw: { width: widthPx, height: heightPx, channels } });
}

type SampleDepth = "uchar" | "ushort";

async function collect(pipeline: Sharp, depth: SampleDepth = "uchar"): Promise<Pixels> {
  const { data, info } = await pipeline.raw({ depth }).toBuffer({ resolveWithObject: true });
  return { data, widthPx: info.width, heightPx: info.height, channels: info.channels };
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
