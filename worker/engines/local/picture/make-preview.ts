import sharp from "sharp";
import type { Rgb } from "../raster/grid.ts";

const previewSidePx = 384;

/** A small JPEG of an unfinished picture. */
export async function makePreview({ data, width, height }: Rgb): Promise<Uint8Array> {
  return sharp(data, { raw: { width, height, channels: 3 }, limitInputPixels: false })
    .resize(previewSidePx, previewSidePx, { fit: "inside", withoutEnlargement: true })
    .jpeg({ quality: 70 })
    .toBuffer();
}
