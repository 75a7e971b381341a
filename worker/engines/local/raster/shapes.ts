import { intAt } from "./cells.ts";
import type { Mask, Size } from "./grid.ts";

/** For each pixel the index of the (nearly) nearest set pixel, -1 if none is set (8-neighbour sequential transform). */
export function nearestIndex({ data, width, height }: Mask): Int32Array {
  const nearest = new Int32Array(data.length).fill(-1);
  for (let i = 0; i < data.length; i++) if (data[i]) nearest[i] = i;
  const relax = createRelax(nearest, width);
  for (let y = 0; y < height; y++) sweepDown(relax, y, width);
  for (let y = height - 1; y >= 0; y--) sweepUp(relax, y, { width, height });
  return nearest;
}

function sweepDown(relax: Relax, y: number, width: number): void {
  for (let x = 0; x < width; x++) {
    if (x > 0) relax(x, y, -1);
    if (y > 0) relaxRow({ relax, width }, { x, y }, -1);
  }
  for (let x = width - 2; x >= 0; x--) relax(x, y, 1);
}

function sweepUp(relax: Relax, y: number, { width, height }: Size): void {
  for (let x = width - 1; x >= 0; x--) {
    if (x < width - 1) relax(x, y, 1);
    if (y < height - 1) relaxRow({ relax, width }, { x, y }, 1);
  }
  for (let x = 1; x < width; x++) relax(x, y, -1);
}

/** Takes the neighbour's answer where it is closer; `offset` is the neighbour's index less the own. */
type Relax = (x: number, y: number, offset: number) => void;

function createRelax(nearest: Int32Array, width: number): Relax {
  const squaredTo = (found: number, x: number, y: number) => {
    const dx = (found % width) - x;
    const dy = ((found / width) | 0) - y;
    return dx * dx + dy * dy;
  };
  return (x, y, offset) => {
    const own = y * width + x;
    const found = intAt(nearest, own + offset);
    if (found < 0) return;
    const known = intAt(nearest, own);
    if (known < 0 || squaredTo(found, x, y) < squaredTo(known, x, y)) nearest[own] = found;
  };
}

function relaxRow(
  { relax, width }: { relax: Relax; width: number },
  { x, y }: { x: number; y: number },
  dy: 1 | -1,
): void {
  if (x > 0) relax(x, y, dy * width - 1);
  relax(x, y, dy * width);
  if (x < width - 1) relax(x, y, dy * width + 1);
}
