import sharp from "sharp";
import type { Sharp } from "sharp";
import { rgbaToThumbHash } from "thumbhash";
import { AppError, isAppError, isErrorCode } from "../platform/errors.ts";
import type { SourceFormat } from "./formats/container.ts";
import { boundPngPixels, withPngXmp } from "./formats/png.ts";
import type { StoredMime } from "./image.ts";
import { previewPx, thumbnailPx, uploadLimits } from "./limits.ts";

/** Every file of one picture, ready to be stored. */
export interface ImageFiles extends SmallFiles {
  readonly original: Buffer;
  readonly mime: StoredMime;
  readonly widthPx: number;
  readonly heightPx: number;
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
}

interface OutputTask {
  readonly as: "output";
  readonly mime: StoredMime;
  /** The mark of origin. */
  readonly xmp: string;
  readonly maxPixels: number;
}

/** A task of encoding; plain data, since it is sent to a child process. */
export type EncodeTask = UploadTask | OutputTask;

/** Decodes a picture once and makes its files. Throws the codes `upload_*`, `engine_failed` for outputs. */
export async function encodeFiles(bytes: Buffer, task: EncodeTask): Promise<ImageFiles> {
  if (task.as === "output") return encodeOutput(bytes, task);
  if (task.format === "png") await boundPngPixels(bytes);
  return task.as === "mask" ? encodeMask(bytes) : encodePhoto(bytes, task);
}

/** Decoded pixels: 8 bits, sRGB (or one grey channel), rows from the top. */
interface Pixels {
  readonly data: Buffer;
  readonly widthPx: number;
  readonly heightPx: number;
  readonly channels: 1 | 2 | 3 | 4;
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

/** Decodes an upload once: orientation applied, colours in sRGB, nothing else of the file kept. Throws `upload_unreadable`. */
function decodePhoto(bytes: Buffer): Promise<Pixels> {
  return decode(openFile(bytes).toColourspace("srgb"));
}

/** Decodes a mask to one grey channel; transparent counts as black, colours count by their luminance. */
function decodeMask(bytes: Buffer): Promise<Pixels> {
  return decode(openFile(bytes).flatten({ background: "#000000" }).greyscale().toColourspace("b-w"));
}

/** Decodes an engine's result of at most `maxPixels`. Throws `engine_failed` when the result is no image. */
async function decodeOutput(bytes: Buffer, maxPixels: number): Promise<Pixels> {
  try {
    return await collect(sharp(bytes, { limitInputPixels: maxPixels }).toColourspace("srgb"));
  } catch (cause) {
    throw new AppError("engine_failed", undefined, { cause });
  }
}

async function decode(pipeline: Sharp): Promise<Pixels> {
  try {
    return await collect(pipeline);
  } catch (cause) {
    throw new AppError("upload_unreadable", undefined, { cause });
  }
}

/** "error" refuses truncated and damaged pixels but not the odd marker that cameras write. */
function openFile(bytes: Buffer): Sharp {
  const limits = { failOn: "error", limitInputPixels: uploadLimits.pixels } as const;
  return sharp(bytes, { ...limits, autoOrient: true }).timeout({ seconds: uploadLimits.decodeSeconds });
}

/** Starts a pipeline from decoded pixels. */
function openPixels({ data, widthPx, heightPx, channels }: Pixels): Sharp {
  return sharp(data, { raw: { width: widthPx, height: heightPx, channels } });
}

async function collect(pipeline: Sharp): Promise<Pixels> {
  const { data, info } = await pipeline.raw({ depth: "uchar" }).toBuffer({ resolveWithObject: true });
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

/** The pixel count in the header of an engine's file; nothing is decoded. Throws `engine_failed` when it is no picture. */
export async function countOutputPixels(bytes: Buffer): Promise<number> {
  try {
    const { width, height } = await sharp(bytes, { limitInputPixels: false }).metadata();
    return width * height;
  } catch (cause) {
    throw new AppError("engine_failed", undefined, { cause });
  }
}

// Answer of the child process on stdout: the length of a JSON head (4 bytes), the head, and the files that it names.

const fileNames = ["original", "preview", "thumbnail"] as const;

/** Resources that a child has used since its start. */
export interface ChildUsage {
  readonly cpuMs: number;
  readonly rssBytes: number;
}

interface WireError {
  readonly code: string;
  readonly message: string;
  readonly details?: Readonly<Record<string, unknown>> | undefined;
  readonly trace?: string | undefined;
}

type Head =
  | { readonly error: WireError }
  | {
      readonly facts: Pick<ImageFiles, "mime" | "widthPx" | "heightPx" | "thumbhash">;
      readonly sizes: readonly number[];
    };

export function packFiles({ mime, widthPx, heightPx, thumbhash, ...files }: ImageFiles): Buffer[] {
  const bodies = fileNames.map((name) => files[name]);
  const facts = { mime, widthPx, heightPx, thumbhash };
  return [packHead({ facts, sizes: bodies.map(({ length }) => length) }), ...bodies];
}

/** An error that is no AppError becomes `internal`. */
export function packError(thrown: unknown): Buffer[] {
  const error = isAppError(thrown) ? thrown : new AppError("internal", undefined, { cause: thrown });
  const { code, message, details, cause } = error;
  const trace = cause instanceof Error ? cause.stack : undefined;
  return [packHead({ error: { code, message, details, trace } })];
}

function packHead(head: Head): Buffer {
  const json = Buffer.from(JSON.stringify(head));
  const length = Buffer.alloc(4);
  length.writeUInt32BE(json.length);
  return Buffer.concat([length, json]);
}

/** Throws the child's error; returns null for an answer that is not whole. */
export function unpackFiles(answer: Buffer): ImageFiles | null {
  if (answer.length < 4) return null;
  const headEnd = 4 + answer.readUInt32BE(0);
  if (answer.length < headEnd) return null;
  const head = JSON.parse(answer.toString("utf8", 4, headEnd)) as Head;
  if ("error" in head) throw unpackError(head.error);
  const [original = 0, preview = 0, thumbnail = 0] = head.sizes;
  const [previewAt, thumbnailAt] = [headEnd + original, headEnd + original + preview];
  if (answer.length !== thumbnailAt + thumbnail) return null;
  return {
    ...head.facts,
    original: answer.subarray(headEnd, previewAt),
    preview: answer.subarray(previewAt, thumbnailAt),
    thumbnail: answer.subarray(thumbnailAt),
  };
}

function unpackError({ code, message, details, trace }: WireError): AppError {
  const known = isErrorCode(code) ? code : "internal";
  return new AppError(known, message, { ...(details && { details }), cause: trace });
}
