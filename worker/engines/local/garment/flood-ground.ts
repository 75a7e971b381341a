import type { CV } from "@techstark/opencv-js";
import { byteAt, floatAt } from "../raster/cells.ts";
import { clamp } from "../raster/clamp.ts";
import { maskWhere, type Mask, type Size } from "../raster/grid.ts";
import { median } from "../raster/median.ts";
import { morph } from "../raster/filters.ts";
import type { Ground } from "./ground-difference.ts";

const tintOfCloth = 9;
const darkestShadow = 110;

/** The garment on a plain ground: what a flood from the border does not reach and what is no soft shadow. */
export function maskByFlood(cv: CV, ground: Ground, size: Size): { cloth: Mask; isGround: Mask } {
  const tolerance = clamp(ground.deviation * 0.9, 7, 12);
  const flooded = flood(ground, size, tolerance);
  const rest = maskWhere(size, (i) => !byteAt(flooded, i));
  // A shadow is a little darker than the ground without a tint; how dark counts as cloth depends on the garment.
  const inner = morph(cv, rest, ["erode", 0.03 * size.width]);
  const lightness: number[] = [];
  for (let i = 0; i < rest.data.length; i += 7) {
    if (byteAt(inner.data, i)) lightness.push(Math.abs(floatAt(ground.lightness, i)));
  }
  const limit =
    lightness.length > 0 ? clamp(0.55 * median(lightness), tolerance, darkestShadow) : darkestShadow;
  const cloth = maskWhere(size, (i) => {
    if (!byteAt(rest.data, i)) return false;
    const light = floatAt(ground.lightness, i);
    return floatAt(ground.tint, i) > tintOfCloth || light > tolerance || -light > limit;
  });
  return { cloth, isGround: { ...size, data: flooded } };
}

function flood(ground: Ground, { width, height }: Size, tolerance: number): Uint8Array {
  const reached = new Uint8Array(width * height);
  const stack: number[] = [];
  const visit = (i: number) => {
    if (i < 0 || i >= reached.length || byteAt(reached, i)) return;
    if (floatAt(ground.difference, i) >= tolerance) return;
    reached[i] = 1;
    stack.push(i);
  };
  for (const i of ground.border) visit(i);
  for (let i = stack.pop(); i !== undefined; i = stack.pop()) {
    const x = i % width;
    if (x > 0) visit(i - 1);
    if (x < width - 1) visit(i + 1);
    visit(i - width);
    visit(i + width);
  }
  return reached;
}
