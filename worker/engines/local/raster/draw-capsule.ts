import { clamp } from "./clamp.ts";
import type { Mask, Point } from "./grid.ts";

export interface Capsule {
  readonly from: Point;
  readonly to: Point;
  readonly radius: number;
}

/** Sets all pixels within `radius` of the line. */
export function drawCapsule({ data, width, height }: Mask, { from, to, radius }: Capsule): void {
  const dx = to.x - from.x;
  const dy = to.y - from.y;
  const lengthSquared = dx * dx + dy * dy || 1;
  const bottom = Math.min(height - 1, Math.ceil(Math.max(from.y, to.y) + radius));
  const left = Math.max(0, Math.floor(Math.min(from.x, to.x) - radius));
  const right = Math.min(width - 1, Math.ceil(Math.max(from.x, to.x) + radius));
  for (let y = Math.max(0, Math.floor(Math.min(from.y, to.y) - radius)); y <= bottom; y++) {
    for (let x = left; x <= right; x++) {
      const t = clamp(((x - from.x) * dx + (y - from.y) * dy) / lengthSquared, 0, 1);
      if (Math.hypot(x - from.x - t * dx, y - from.y - t * dy) <= radius) data[y * width + x] = 1;
    }
  }
}
