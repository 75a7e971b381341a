import { boxBlur } from "../raster/box-blur.ts";
import { byteAt, floatAt, intAt } from "../raster/cells.ts";
import { maskWhere, planeOf, type Mask, type Plane, type Rgb } from "../raster/grid.ts";
import { maskedBlur } from "../raster/masked-blur.ts";
import { nearestIndex } from "../raster/shapes.ts";
import { rgbPlanes, type Planes } from "../raster/rgb-planes.ts";

/** The colours of a part of the garment, continued beyond its outline, and where the part is. */
export interface Texture {
  readonly colors: Planes;
  /** 0..1, soft at the outline. */
  readonly cover: Plane;
}

/** `cloth` marks the pixels of the photo that show nothing but cloth. */
export function garmentTexture(garment: { picture: Rgb; cloth: Mask }, part: Mask): Texture {
  const inner = maskWhere(part, (i) => byteAt(part.data, i) === 1 && byteAt(garment.cloth.data, i) === 1);
  const nearest = nearestIndex(inner);
  const colors = rgbPlanes(garment.picture);
  // Outside a smoothed colour of the nearest inner pixel: noise would become streaks.
  const smooth = maskedBlur(colors, planeOf(inner), 3);
  for (const c of [0, 1, 2] as const) extend(colors[c].data, smooth[c].data, nearest);
  return { colors, cover: boxBlur(planeOf(part), 1, 2) };
}

/** Gives each pixel outside the smoothed colour of the pixel inside that is nearest to it. */
function extend(colors: Float32Array, smooth: Float32Array, nearest: Int32Array): void {
  for (let i = 0; i < colors.length; i++) {
    const source = intAt(nearest, i);
    if (source >= 0 && source !== i) colors[i] = floatAt(smooth, source);
  }
}
