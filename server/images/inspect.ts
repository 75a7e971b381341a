import { fileTypeFromBuffer } from "file-type";
import { AppError } from "../platform/index.ts";
import { readAvif } from "./formats/avif.ts";
import { type Container, type SourceFormat, unreadable, unsupported } from "./formats/container.ts";
import { readJpeg } from "./formats/jpeg.ts";
import { readPng } from "./formats/png.ts";
import { readWebp } from "./formats/webp.ts";
import { uploadLimits } from "./limits.ts";

/**
 * Decides by the content alone whether a file may be decoded; names and declared types play no part.
 * Throws `upload_too_large`, `upload_unsupported`, `upload_animated`, `upload_too_many_pixels`, `upload_bad_shape` or
 * `upload_unreadable`. No pixel is decoded.
 */
export async function inspect(bytes: Buffer): Promise<Container> {
  if (bytes.length > uploadLimits.sizeBytes) throw new AppError("upload_too_large");
  const container = read(await formatOf(bytes), bytes);
  const foreign = foreignContent(bytes, container.extras);
  if (foreign) throw unsupported(foreign);
  if (container.isAnimated) throw new AppError("upload_animated");
  checkSize(container);
  return container;
}

/** Decoders keep whole rows or columns, so a very long side costs far more than its pixels. */
function checkSize({ widthPx, heightPx }: Container): void {
  const pixels = widthPx * heightPx;
  const details = { widthPx, heightPx };
  if (pixels === 0) throw unreadable("no size");
  if (pixels > uploadLimits.pixels) throw new AppError("upload_too_many_pixels", undefined, { details });
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

/** Bytes that are enough to tell every format apart. */
const sniffBytes = 4_100;

const formatByMime = new Map<string, SourceFormat>([
  ["image/jpeg", "jpeg"],
  ["image/png", "png"],
  ["image/apng", "png"],
  ["image/webp", "webp"],
  ["image/avif", "avif"],
]);

async function formatOf(bytes: Buffer): Promise<SourceFormat> {
  const type = await fileTypeFromBuffer(bytes.subarray(0, sniffBytes));
  const format = formatByMime.get(type?.mime ?? "");
  if (!format) throw unsupported(type?.mime ?? "unknown");
  return format;
}

const readers = { jpeg: readJpeg, png: readPng, webp: readWebp, avif: readAvif } as const;

/** A structure that points outside the file is a damaged file. */
function read(format: SourceFormat, bytes: Buffer): Container {
  try {
    return readers[format](bytes);
  } catch (error) {
    throw error instanceof RangeError ? unreadable("truncated") : error;
  }
}

// Active content that other programs would find in the file: pages, scripts and documents.
const activeText = /<(?:html|script|iframe)[\s/>]|<!doctype\s+html|<\?php\s|<svg\s+[a-z:]+\s*=|%pdf-\d/i;

/** Names what else a picture file is (a polyglot), or null. Compressed pixels are never searched, so chance cannot hit. */
function foreignContent(bytes: Buffer, extras: readonly Buffer[]): string | null {
  if (endsAsZip(bytes)) return "application/zip";
  const found = extras.some((extra) => activeText.test(extra.toString("latin1")));
  return found ? "text/html" : null;
}

const zipEnd = Buffer.from([0x50, 0x4b, 0x05, 0x06]);
const zipEndBytes = 22;

/** A ZIP is read from its end: a directory record whose comment ends exactly where the file does. */
function endsAsZip(bytes: Buffer): boolean {
  const tail = bytes.subarray(Math.max(0, bytes.length - zipEndBytes - 0xffff));
  for (
    let at = tail.indexOf(zipEnd);
    at >= 0 && at + zipEndBytes <= tail.length;
    at = tail.indexOf(zipEnd, at + 1)
  ) {
    if (at + zipEndBytes + tail.readUInt16LE(at + 20) === tail.length) return true;
  }
  return false;
}
