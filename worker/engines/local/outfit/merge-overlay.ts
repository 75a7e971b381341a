import { byteAt } from "../raster/cells.ts";
import { clamp } from "../raster/clamp.ts";
import { emptyMask, type Mask, type Rgb } from "../raster/grid.ts";
import { sampleLinear } from "../raster/sample-linear.ts";
import type { Overlay } from "./shade-overlay.ts";

/** Lays the overlay over `picture` in place, at its own size. Returns where it was allowed to change anything. */
export function mergeOverlay(picture: Rgb, { colors, alpha }: Overlay): Mask {
  const mask = emptyMask(picture);
  const ratio = { x: alpha.width / picture.width, y: alpha.height / picture.height };
  const leastAlpha = 2 / 255;
  for (let i = 0; i < mask.data.length; i++) {
    const x = ((i % picture.width) + 0.5) * ratio.x - 0.5;
    const y = (Math.floor(i / picture.width) + 0.5) * ratio.y - 0.5;
    const share = sampleLinear(alpha, x, y);
    if (share < leastAlpha) continue;
    mask.data[i] = 1;
    for (const c of [0, 1, 2] as const) {
      const value = byteAt(picture.data, i * 3 + c) * (1 - share) + sampleLinear(colors[c], x, y);
      picture.data[i * 3 + c] = Math.round(clamp(value, 0, 255));
    }
  }
  return mask;
}

/** Share of the overlay's torso pixels that are painted, of those that `isVisible` counts. */
export function paintedShare(region: Mask, torso: Mask, isHidden: (index: number) => boolean): number {
  let visible = 0;
  let painted = 0;
  for (let i = 0; i < torso.data.length; i++) {
    if (!byteAt(torso.data, i) || isHidden(i)) continue;
    visible++;
    painted += byteAt(region.data, i);
  }
  return visible > 0 ? painted / visible : 0;
}
