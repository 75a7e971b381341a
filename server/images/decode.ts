import sharp, { type Sharp } from "sharp";
import { isAppError } from "../platform/errors.ts";
import { undecoded } from "../platform/undecoded.ts";
import { type ColourTag, toSrgb } from "./colour.ts";
import { type SourceFormat, unreadable } from "./formats/container.ts";
import { withAvifBrand } from "./formats/heif.ts";
import { withJpegEnd } from "./formats/jpeg.ts";
import { boundPngPixels, plainPng } from "./formats/png.ts";
import { withMainPicture } from "./formats/tiff.ts";
import { uploadLimits } from "./limits.ts";
import { isInvisible, markByAlpha } from "./transparency.ts";

/** How the file of an upload is decoded. */
export interface DecodeTask {
  readonly format: SourceFormat;
  /** The file's end is missing; a few rows may be. */
  readonly isCut: boolean;
  readonly isAnimated: boolean;
  readonly sideChannels: number;
  readonly colour: ColourTag | null;
  /** The longer side that is kept; null keeps the size. */
  readonly longerSidePx: number | null;
}

/** Decoded pixels: 8 bits, sRGB (or one grey channel), rows from the top. */
export interface Pixels {
  readonly data: Buffer;
  readonly widthPx: number;
  readonly heightPx: number;
  readonly channels: 1 | 2 | 3 | 4;
}

/** The bytes that the decoder gets. Throws `upload_unreadable`. */
export async function mend(bytes: Buffer, { format, isCut }: DecodeTask): Promise<Buffer> {
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

const pagedFormats: ReadonlySet<SourceFormat> = new Set(["gif", "webp"]);

/**
 * Decodes an upload once: orientation applied, colours in sRGB, nothing else of the file kept. Of an animation that begins with
 * nothing at all a later picture is taken. Throws `upload_unreadable`.
 */
export async function decodePhoto(bytes: Buffer, task: DecodeTask): Promise<Pixels> {
  const first = await decodePage(bytes, task);
  if (!task.isAnimated || !pagedFormats.has(task.format) || !isInvisible(first)) return first;
  return (await decodeFirstVisible(bytes, task)) ?? first;
}

/** The first later picture that shows something; null where there is none before a damaged one and the limits of the look. */
async function decodeFirstVisible(bytes: Buffer, task: DecodeTask): Promise<Pixels | null> {
  const { pages = 1, width, height } = await openFile(bytes, task).metadata();
  let pixelsLeft: number = uploadLimits.pagePixels;
  for (let page = 1; page < Math.min(pages, uploadLimits.pages); page += 1) {
    // All pictures before it are decoded again.
    pixelsLeft -= (page + 1) * width * height;
    const found = pixelsLeft < 0 ? null : await decodePage(bytes, task, page).catch(nullIfUnreadable);
    if (found === null || !isInvisible(found)) return found;
  }
  return null;
}

function nullIfUnreadable(error: unknown): null {
  if (isAppError(error)) return null;
  throw error;
}

async function decodePage(bytes: Buffer, task: DecodeTask, page?: number): Promise<Pixels> {
  if (task.colour === null)
    return decodeWhole((await openInSrgb(bytes, task, page)).toColourspace("srgb"), task);
  // Codes count before a profile. The samples stay as they are until they are converted here.
  const { depth } = await sharp(bytes, { limitInputPixels: uploadLimits.scalablePixels }).metadata();
  const isDeep = depth === "ushort";
  const read = openFile(bytes, task, { ignoreIcc: true }).toColourspace(isDeep ? "rgb16" : "srgb");
  const found = await decode(read, isDeep ? "ushort" : "uchar");
  const { data, channels } = found;
  const samples = isDeep ? new Uint16Array(data.buffer, data.byteOffset, data.length / 2) : data;
  return { ...found, data: toSrgb({ data: samples, channels }, task.colour) };
}

/** Resizing would take a channel at the side for transparency, so it comes after they are gone. */
async function decodeWhole(pipeline: Sharp, { sideChannels, longerSidePx }: DecodeTask): Promise<Pixels> {
  const found = await decode(pipeline);
  if (sideChannels === 0) return found;
  const pixels = withoutLastChannels(found, sideChannels);
  return longerSidePx === null ? pixels : collect(fitInto(openPixels(pixels), longerSidePx));
}

const keptCounts = [1, 2, 3, 4] as const;

/** The same picture without so many channels at the end of each pixel. */
function withoutLastChannels(pixels: Pixels, count: number): Pixels {
  const { data, widthPx, heightPx, channels } = pixels;
  const kept = keptCounts.find((each) => each === channels - count);
  if (kept === undefined) throw unreadable("odd channels");
  const left = Buffer.alloc(widthPx * heightPx * kept);
  for (let from = 0, to = 0; to < left.length; from += channels, to += kept)
    for (let channel = 0; channel < kept; channel += 1) left[to + channel] = data[from + channel] ?? 0;
  return { ...pixels, data: left, channels: kept };
}

/** sharp applies the profile of a picture of 16 bits only where it is to write another one. */
async function openInSrgb(bytes: Buffer, task: DecodeTask, page?: number): Promise<Sharp> {
  const picture = openFile(bytes, task, { page });
  if (task.format !== "png" && task.format !== "tiff") return picture;
  // Of the header alone; the pixels are decoded once.
  const { depth, hasProfile } = await picture.metadata().catch((cause: unknown) => {
    throw undecoded("upload_unreadable", cause);
  });
  return depth === "ushort" && hasProfile ? picture.withIccProfile("srgb") : picture;
}

/** Decodes a mask to one grey channel: by its alpha (`markByAlpha`), else by luminance with transparent as black. */
export async function decodeMask(bytes: Buffer, task: DecodeTask): Promise<Pixels> {
  const pixels = await decodeWhole(openFile(bytes, task).toColourspace("srgb"), task);
  const { data, widthPx, heightPx, channels } = pixels;
  const marks = markByAlpha({ data, channels, width: widthPx, height: heightPx });
  if (marks) return { data: Buffer.from(marks.buffer), widthPx, heightPx, channels: 1 };
  return collect(openPixels(pixels).flatten({ background: "#000000" }).greyscale().toColourspace("b-w"));
}

/** Decodes an engine's result of at most `maxPixels`. Throws `engine_failed` when the result is no image. */
export async function decodeOutput(bytes: Buffer, maxPixels: number): Promise<Pixels> {
  try {
    return await collect(sharp(bytes, { limitInputPixels: maxPixels }).toColourspace("srgb"));
  } catch (cause) {
    throw undecoded("engine_failed", cause);
  }
}

async function decode(pipeline: Sharp, depth?: SampleDepth): Promise<Pixels> {
  try {
    return await collect(pipeline, depth);
  } catch (cause) {
    throw undecoded("upload_unreadable", cause);
  }
}

interface Opening {
  readonly ignoreIcc?: boolean;
  /** Of an animation. By default the first one, of a HEIF the one that is shown; 0 would be its first one. */
  readonly page?: number | undefined;
}

/** "error" refuses truncated and damaged pixels but not the odd marker that cameras write. */
function openFile(bytes: Buffer, task: DecodeTask, { ignoreIcc = false, page }: Opening = {}): Sharp {
  const { isCut, longerSidePx, sideChannels } = task;
  const picture = sharp(bytes, {
    failOn: isCut ? "none" : "error",
    limitInputPixels: uploadLimits.scalablePixels,
    autoOrient: true,
    ignoreIcc,
    ...(page === undefined ? {} : { page }),
  }).timeout({ seconds: uploadLimits.decodeSeconds });
  return longerSidePx === null || sideChannels > 0 ? picture : fitInto(picture, longerSidePx);
}

function fitInto(picture: Sharp, longerSidePx: number): Sharp {
  return picture.resize(longerSidePx, longerSidePx, { fit: "inside", withoutEnlargement: true });
}

/** Starts a pipeline from decoded pixels. */
export function openPixels({ data, widthPx, heightPx, channels }: Pixels): Sharp {
  return sharp(data, { raw: { width: widthPx, height: heightPx, channels } });
}

type SampleDepth = "uchar" | "ushort";

export async function collect(pipeline: Sharp, depth: SampleDepth = "uchar"): Promise<Pixels> {
  const { data, info } = await pipeline.raw({ depth }).toBuffer({ resolveWithObject: true });
  return { data, widthPx: info.width, heightPx: info.height, channels: info.channels };
}
