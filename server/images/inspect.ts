import { fileTypeFromBuffer } from "file-type";
import { AppError } from "../platform/index.ts";
import { type Container, type SourceFormat, unreadable } from "./formats/container.ts";
import { isHeif, readHeif, withAvifBrand } from "./formats/heif.ts";
import { readJpeg } from "./formats/jpeg.ts";
import { boundPngPixels, plainPng, readPng } from "./formats/png.ts";
import { readGif, unsupportedAs } from "./formats/simple.ts";
import { readTiff, withMainPicture } from "./formats/tiff.ts";
import { readWebp } from "./formats/webp.ts";
import { uploadLimits } from "./limits.ts";

/** What may be taken: the usual sizes, or larger ones that are scaled down. */
export interface Taking {
  readonly scaleDown?: boolean | undefined;
}

/**
 * Decides by the content alone whether a file may be decoded; names, declared types and what stands beside the pixels play
 * no part: nothing but pixels is kept. Throws `upload_too_large`, `upload_unsupported`, `upload_too_many_pixels`,
 * `upload_bad_shape` or `upload_unreadable`. No pixel is decoded.
 */
export async function inspect(bytes: Buffer, taking: Taking): Promise<Container> {
  if (bytes.length > maxBytesOf(taking)) throw new AppError("upload_too_large");
  const container = read(await formatOf(bytes), bytes);
  checkSize(container, taking);
  return container;
}

/**
 * What a decoder may get of a file that anybody sent: what an upload may be, of a PNG its pixels alone and no more of them than
 * its size. Throws as `inspect`.
 */
export async function toDecodable(bytes: Buffer): Promise<Buffer> {
  const { format, isCut } = await inspect(bytes, {});
  if (format === "tiff") return withMainPicture(bytes);
  if (format === "avif") return withAvifBrand(bytes);
  if (format !== "png") return bytes;
  await boundPngPixels(bytes, isCut);
  return plainPng(bytes);
}

/** Largest file of an upload. */
export function maxBytesOf({ scaleDown }: Taking): number {
  return scaleDown ? uploadLimits.scalableBytes : uploadLimits.sizeBytes;
}

/** Decoders keep whole rows or columns, so a very long side costs far more than its pixels. */
function checkSize({ widthPx, heightPx }: Container, { scaleDown }: Taking): void {
  const pixels = widthPx * heightPx;
  const details = { widthPx, heightPx };
  if (pixels === 0) throw unreadable("no size");
  if (pixels > (scaleDown ? uploadLimits.scalablePixels : uploadLimits.pixels)) throw tooManyPixels(details);
  const [shorterPx, longerPx] = [Math.min(widthPx, heightPx), Math.max(widthPx, heightPx)];
  const size = `The picture has ${widthPx} × ${heightPx} pixels`;
  if (longerPx > uploadLimits.sidePx) {
    const message = `${size}; a side can have at most ${uploadLimits.sidePx}.`;
    throw new AppError("upload_bad_shape", message, { details });
  }
  if (pixels > uploadLimits.ratioFreePixels && longerPx > uploadLimits.ratio * shorterPx) {
    const message = `${size}; a side can be at most ${uploadLimits.ratio} times the other side.`;
    throw new AppError("upload_bad_shape", message, { details });
  }
}

function tooManyPixels(details: { widthPx: number; heightPx: number }): AppError {
  return new AppError("upload_too_many_pixels", undefined, { details });
}

/** The upright size at which a picture is kept; null when it is kept as it is. */
export function longerSideToKeep({
  widthPx,
  heightPx,
}: Pick<Container, "widthPx" | "heightPx">): number | null {
  const pixels = widthPx * heightPx;
  if (pixels <= uploadLimits.pixels) return null;
  return Math.floor(Math.max(widthPx, heightPx) * Math.sqrt(uploadLimits.pixels / pixels));
}

/** More bytes would let a file of a million tiny chunks take seconds to be told apart. */
const sniffBytes = 4_100;

const formatByMime = new Map<string, SourceFormat>([
  ["image/jpeg", "jpeg"],
  ["image/mpo", "jpeg"],
  ["image/png", "png"],
  ["image/apng", "png"],
  ["image/webp", "webp"],
  ["image/avif", "avif"],
  ["image/heic", "heic"],
  ["image/heif", "heic"],
  ["image/heic-sequence", "heic"],
  ["image/heif-sequence", "heic"],
  ["image/gif", "gif"],
  ["image/tiff", "tiff"],
]);

async function formatOf(bytes: Buffer): Promise<SourceFormat> {
  const start = bytes.subarray(0, sniffBytes);
  const found = otherThanPictures(bytes) ?? (await byContent(start)) ?? bySignature(start);
  const format = formatByMime.get(found ?? "");
  if (!format) throw unsupportedAs(found ?? "unknown");
  return format;
}

/** What others take for a film, since they know its first brand alone, may be a picture. */
async function byContent(start: Buffer): Promise<string | undefined> {
  return isHeif(start) ? "image/heif" : (await fileTypeFromBuffer(start))?.mime;
}

/** The directory of a TIFF, by which others tell it apart, often is at the file's end. */
function bySignature(start: Buffer): string | undefined {
  return /^(?:II[*+]\0|MM\0[*+])/.test(start.toString("latin1", 0, 4)) ? "image/tiff" : undefined;
}

const appleDouble = Buffer.from([0x00, 0x05, 0x16, 0x07]);

/** The starts of TGA files, of which others take the first for a mouse pointer; that one counts its pictures behind it. */
const tgaStarts = [2, 10].map((kind) => Buffer.from([0, 0, kind, 0, 0, 0]));

/** What folders of pictures hold beside pictures, as far as it can be told by its first bytes. */
function otherThanPictures(bytes: Buffer): string | null {
  if (bytes.length === 0 || bytes.subarray(0, sniffBytes).every((byte) => byte === 0)) return "empty";
  if (bytes.subarray(0, 4).equals(appleDouble)) return "appledouble";
  if (bytes.subarray(0, 8).equals(Buffer.from("bplist00"))) return "placeholder";
  if (tgaStarts.some((start) => bytes.subarray(0, start.length).equals(start))) return "image/x-tga";
  return /^\s*<(?:svg|!doctype svg)/i.test(bytes.toString("latin1", 0, 256)) ? "image/svg+xml" : null;
}

const readers = {
  jpeg: readJpeg,
  png: readPng,
  webp: readWebp,
  avif: readHeif,
  heic: readHeif,
  gif: readGif,
  tiff: readTiff,
} as const;

/** A structure that points outside the file is a damaged file. */
function read(format: SourceFormat, bytes: Buffer): Container {
  try {
    return readers[format](bytes);
  } catch (error) {
    throw error instanceof RangeError ? unreadable("truncated") : error;
  }
}
