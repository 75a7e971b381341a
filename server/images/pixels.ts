import sharp, { type Sharp } from "sharp";
import { AppError } from "../platform/errors.ts";
import { uploadLimits } from "./limits.ts";

/** Decoded pixels: 8 bits, sRGB (or one grey channel), rows from the top. */
export interface Pixels {
  readonly data: Buffer;
  readonly widthPx: number;
  readonly heightPx: number;
  readonly channels: 1 | 2 | 3 | 4;
}

/** Decodes an upload once: orientation applied, colours in sRGB, nothing else of the file kept. Throws `upload_unreadable`. */
export function decodePhoto(bytes: Buffer): Promise<Pixels> {
  return decode(openFile(bytes).toColourspace("srgb"));
}

/** Decodes a mask to one grey channel; transparent counts as black, colours count by their luminance. */
export function decodeMask(bytes: Buffer): Promise<Pixels> {
  return decode(openFile(bytes).flatten({ background: "#000000" }).greyscale().toColourspace("b-w"));
}

/** How many pixels an engine's file says it has; nothing is decoded. Throws `engine_failed` when it is no picture. */
export async function countOutputPixels(bytes: Buffer): Promise<number> {
  try {
    const { width, height } = await sharp(bytes, { limitInputPixels: false }).metadata();
    return width * height;
  } catch (cause) {
    throw new AppError("engine_failed", undefined, { cause });
  }
}

/** Decodes what an engine made; at most `maxPixels`. Throws `engine_failed` when that is no picture. */
export async function decodeOutput(bytes: Buffer, maxPixels: number): Promise<Pixels> {
  try {
    return await collect(sharp(bytes, { limitInputPixels: maxPixels }).toColourspace("srgb"));
  } catch (cause) {
    throw new AppError("engine_failed", undefined, { cause });
  }
}

/** The picture at most `longerSidePx` long; the same pixels when it is smaller already. */
export async function shrink(pixels: Pixels, longerSidePx: number): Promise<Pixels> {
  if (Math.max(pixels.widthPx, pixels.heightPx) <= longerSidePx) return pixels;
  return collect(openPixels(pixels).resize(longerSidePx, longerSidePx, { fit: "inside" }));
}

/** Starts a pipeline from decoded pixels. */
export function openPixels({ data, widthPx, heightPx, channels }: Pixels): Sharp {
  return sharp(data, { raw: { width: widthPx, height: heightPx, channels } });
}

export async function collect(pipeline: Sharp): Promise<Pixels> {
  const { data, info } = await pipeline.raw({ depth: "uchar" }).toBuffer({ resolveWithObject: true });
  return { data, widthPx: info.width, heightPx: info.height, channels: info.channels };
}

/** "error" refuses truncated and damaged pixels but not the odd marker that cameras write. */
function openFile(bytes: Buffer): Sharp {
  const limits = { failOn: "error", limitInputPixels: uploadLimits.pixels } as const;
  return sharp(bytes, { ...limits, autoOrient: true }).timeout({ seconds: uploadLimits.decodeSeconds });
}

async function decode(pipeline: Sharp): Promise<Pixels> {
  try {
    return await collect(pipeline);
  } catch (cause) {
    throw new AppError("upload_unreadable", undefined, { cause });
  }
}
