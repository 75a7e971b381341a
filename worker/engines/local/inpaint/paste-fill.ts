import { boxBlur } from "../raster/box-blur.ts";
import { byteAt, floatAt } from "../raster/cells.ts";
import { clamp } from "../raster/clamp.ts";
import { planeOf, type Mask, type Rgb } from "../raster/grid.ts";
import type { Crop } from "./choose-crop.ts";

const featherPx = 2;

/** Writes the filled part into `picture`, faded in over the rim of the hole; pixels outside the hole are not touched. */
export function pasteFill(picture: Rgb, filled: Rgb, { crop, hole }: { crop: Crop; hole: Mask }): void {
  const inside = boxBlur(planeOf(hole), featherPx, 1);
  for (let i = 0; i < hole.data.length; i++) {
    if (!byteAt(hole.data, i)) continue;
    const share = clamp((floatAt(inside.data, i) - 0.5) * 2.5, 0, 1);
    const x = crop.left + (i % crop.width);
    const to = ((crop.top + Math.floor(i / crop.width)) * picture.width + x) * 3;
    for (let c = 0; c < 3; c++) {
      const old = byteAt(picture.data, to + c);
      picture.data[to + c] = Math.round(old + (byteAt(filled.data, i * 3 + c) - old) * share);
    }
  }
}
