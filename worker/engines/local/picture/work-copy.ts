import sharp from "sharp";
import { byteAt } from "../raster/cells.ts";
import type { Rgb } from "../raster/grid.ts";
import type { Picture } from "./read-picture.ts";

/** A copy whose longer side is `sidePx`, transparent pixels on white: what analysis looks at. */
export async function workCopy(picture: Picture, sidePx: number): Promise<Rgb> {
  const flat = flatten(picture);
  const { width, height } = picture;
  const { data, info } = await sharp(flat, { raw: { width, height, channels: 3 }, limitInputPixels: false })
    .resize(sidePx, sidePx, { fit: "inside" })
    .raw()
    .toBuffer({ resolveWithObject: true });
  return { data: new Uint8Array(data), width: info.width, height: info.height };
}

function flatten({ data, alpha }: Picture): Uint8Array {
  if (!alpha) return data;
  return data.map((value, i) => {
    const share = byteAt(alpha.data, Math.floor(i / 3)) / 255;
    return Math.round(value * share + 255 * (1 - share));
  });
}
