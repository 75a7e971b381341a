import type { Mask, Point } from "./grid.ts";

/** Sets all pixels inside the polygon (even-odd). */
export function drawPolygon({ data, width, height }: Mask, corners: readonly Point[]): void {
  for (let y = 0; y < height; y++) {
    const crossings = crossingsAt(corners, y);
    for (let k = 0; k + 1 < crossings.length; k += 2) {
      const from = Math.max(0, Math.ceil(crossings[k] as number));
      const to = Math.min(width - 1, Math.floor(crossings[k + 1] as number));
      if (to >= from) data.fill(1, y * width + from, y * width + to + 1);
    }
  }
}

function crossingsAt(corners: readonly Point[], y: number): number[] {
  const crossings: number[] = [];
  let a = corners.at(-1);
  for (const b of corners) {
    if (a && a.y <= y !== b.y <= y) crossings.push(a.x + ((y - a.y) * (b.x - a.x)) / (b.y - a.y));
    a = b;
  }
  return crossings.sort((p, q) => p - q);
}
