import { byteAt } from "../raster/cells.ts";
import type { Mask } from "../raster/grid.ts";
import type { Run } from "./garment-shape.ts";

/** What the landmarks are read from. */
export interface Outline {
  readonly mask: Mask;
  readonly left: number;
  readonly right: number;
  readonly top: number;
  readonly bottom: number;
  /** Per column the first row with cloth, -1 for none. */
  readonly tops: readonly number[];
  readonly runs: readonly (Run | undefined)[];
}

export function readOutline(mask: Mask): Outline {
  const { data, width, height } = mask;
  const tops = Array.from({ length: width }, () => -1);
  let [left, right, top, bottom] = [width, 0, height, 0];
  for (let i = 0; i < data.length; i++) {
    if (!byteAt(data, i)) continue;
    const x = i % width;
    const y = Math.floor(i / width);
    if (tops[x] === -1) tops[x] = y;
    left = Math.min(left, x);
    right = Math.max(right, x);
    top = Math.min(top, y);
    bottom = Math.max(bottom, y);
  }
  const middle = Math.round((left + right) / 2);
  const runs = Array.from({ length: height }, (_row, y) => runAt(mask, middle, y));
  return { mask, left, right, top, bottom, tops, runs };
}

function runAt({ data, width }: Mask, middle: number, y: number): Run | undefined {
  const row = y * width;
  if (!byteAt(data, row + middle)) return undefined;
  let left = middle;
  let right = middle;
  while (left > 0 && byteAt(data, row + left - 1)) left--;
  while (right < width - 1 && byteAt(data, row + right + 1)) right++;
  return { left, right };
}
