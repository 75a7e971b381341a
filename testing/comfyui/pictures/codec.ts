import sharp, { type Sharp } from "sharp";
import type { Frame } from "../pictures.ts";

/** A sharp pipeline over raw pixels. */
export function pipe(frame: Frame): Sharp {
  const { widthPx: width, heightPx: height, channels } = frame;
  return sharp(frame.data, { raw: { width, height, channels }, limitInputPixels: false });
}

/** Runs the pipeline back to raw pixels. */
export async function toFrame(pipeline: Sharp): Promise<Frame> {
  const { data, info } = await pipeline.raw().toBuffer({ resolveWithObject: true });
  const channels = info.channels === 1 || info.channels === 4 ? info.channels : 3;
  return { widthPx: info.width, heightPx: info.height, channels, data };
}

/** Decodes a file to 8-bit RGB or RGBA, turned upright; throws when it is no picture. */
export function decode(bytes: Uint8Array): Promise<Frame> {
  return toFrame(sharp(bytes, { limitInputPixels: false }).rotate().toColourspace("srgb"));
}

/** Encodes as PNG with the speed that the real server takes. */
export function encodePng(frame: Frame): Promise<Buffer> {
  return pipe(frame).png({ compressionLevel: 4 }).toBuffer();
}
