import { boxBlur } from "../raster/box-blur.ts";
import { floatAt, intAt } from "../raster/cells.ts";
import type { Rgb, Size } from "../raster/grid.ts";
import { median } from "../raster/median.ts";
import { rgbPlanes } from "../raster/rgb-planes.ts";

/** How the pixels of a garment photo differ from the ground that its border shows. */
export interface Ground {
  readonly border: Int32Array;
  /** Of the border from its own median: small for a plain ground. */
  readonly deviation: number;
  /** Largest difference of a channel, 0..255. */
  readonly difference: Float32Array;
  /** Brighter (positive) or darker than the ground. */
  readonly lightness: Float32Array;
  /** Difference in tint alone. */
  readonly tint: Float32Array;
}

const blurPx = 2;
const borderQuantile = 0.85;

export function groundDifference(picture: Rgb): Ground {
  const planes = rgbPlanes(picture).map((plane) => boxBlur(plane, blurPx, 2).data);
  const border = borderOf(picture);
  const offsets = planes.map((plane) => {
    const ground = median(Array.from(border, (i) => floatAt(plane, i)));
    return plane.map((value) => value - ground);
  });
  const [red, green, blue] = offsets as [Float32Array, Float32Array, Float32Array];
  const combine = (of: (r: number, g: number, b: number) => number) =>
    red.map((r, i) => of(r, floatAt(green, i), floatAt(blue, i)));
  const difference = combine((r, g, b) => Math.max(Math.abs(r), Math.abs(g), Math.abs(b)));
  const sorted = Float32Array.from(border, (i) => floatAt(difference, i)).toSorted();
  return {
    border,
    difference,
    deviation: floatAt(sorted, Math.floor(sorted.length * borderQuantile)),
    lightness: combine((r, g, b) => (r + g + b) / 3),
    tint: combine((r, g, b) => Math.max(r, g, b) - Math.min(r, g, b)),
  };
}

/** Indexes one pixel inside the edge. */
function borderOf({ width, height }: Size): Int32Array {
  const border = new Int32Array(2 * (width + height));
  let next = 0;
  for (let x = 0; x < width; x++) {
    border[next++] = width + x;
    border[next++] = (height - 2) * width + x;
  }
  for (let y = 0; y < height; y++) {
    border[next++] = y * width + 1;
    border[next++] = y * width + width - 2;
  }
  return border;
}

export function shareOfBorder({ border }: Ground, isSet: (index: number) => boolean): number {
  let count = 0;
  for (let n = 0; n < border.length; n++) if (isSet(intAt(border, n))) count++;
  return count / border.length;
}
