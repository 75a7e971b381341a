import { byteAt } from "../raster/cells.ts";
import type { Mask } from "../raster/grid.ts";

/** Overlap of a mask with its mirror image, 0..1, about the best axis near its middle. */
export function measureSymmetry(mask: Mask): number {
  let left = mask.width;
  let right = 0;
  for (let i = 0; i < mask.data.length; i++) {
    if (!byteAt(mask.data, i)) continue;
    left = Math.min(left, i % mask.width);
    right = Math.max(right, i % mask.width);
  }
  let best = 0;
  for (let shift = -3; shift <= 3; shift++) {
    best = Math.max(best, overlapAbout(mask, Math.round(left + right + shift * 0.04 * (right - left))));
  }
  return best;
}

/** `axisTwice` is the sum of the columns of a pixel and its mirror image. */
function overlapAbout({ data, width, height }: Mask, axisTwice: number): number {
  let both = 0;
  let any = 0;
  const first = Math.max(0, axisTwice - width + 1);
  const last = Math.min(width - 1, axisTwice);
  for (let row = 0; row < height * width; row += 2 * width) {
    for (let x = first; x <= last; x += 2) {
      const a = byteAt(data, row + x);
      const b = byteAt(data, row + axisTwice - x);
      both += a & b;
      any += a | b;
    }
  }
  return any > 0 ? both / any : 0;
}
