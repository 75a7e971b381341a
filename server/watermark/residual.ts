import { tilePx } from "./pattern.ts";

/** One number for each pixel, rows from the top. */
export interface Plane {
  readonly data: Float32Array;
  readonly widthPx: number;
  readonly heightPx: number;
}

/** Chips and noise stay, what is larger goes. */
const meanReachPx = 2;
const spreadReachPx = 4;
/** Steps of brightness that are no noise of a quiet place, but rounding and compression. */
const leastSpread = 4;

/**
 * How far each pixel of a grey picture (8 bits) lies from its surroundings, in parts of what is usual there and divided by that once
 * more: a mark is seen best where little goes on. Single large steps belong to the picture and count less.
 */
export function residualOf(grey: Buffer, widthPx: number, heightPx: number): Plane {
  const size = { widthPx, heightPx };
  const means = boxMeans(grey, size, meanReachPx);
  const data = means;
  const squares = new Float32Array(means.length);
  for (let at = 0; at < data.length; at += 1) {
    const step = (grey[at] ?? 0) - (means[at] ?? 0);
    data[at] = step;
    squares[at] = step * step;
  }
  const variances = boxMeans(squares, size, spreadReachPx);
  for (let at = 0; at < data.length; at += 1) {
    const spread = Math.sqrt(leastSpread ** 2 + (variances[at] ?? 0));
    const part = (data[at] ?? 0) / spread;
    data[at] = part / (1 + (part * part) / 4) / spread;
  }
  return { data, ...size };
}

type Size = Pick<Plane, "widthPx" | "heightPx">;

/** The mean of the square around each pixel; at an edge, of the part that is there. */
function boxMeans(values: ArrayLike<number>, { widthPx, heightPx }: Size, reachPx: number): Float32Array {
  const sums = areaSums(values, { widthPx, heightPx });
  const across = widthPx + 1;
  const means = new Float32Array(widthPx * heightPx);
  for (let y = 0; y < heightPx; y += 1) {
    const top = Math.max(0, y - reachPx);
    const bottom = Math.min(heightPx, y + reachPx + 1);
    const above = top * across;
    const below = bottom * across;
    for (let x = 0; x < widthPx; x += 1) {
      const left = Math.max(0, x - reachPx);
      const right = Math.min(widthPx, x + reachPx + 1);
      const sum =
        (sums[below + right] ?? 0) -
        (sums[above + right] ?? 0) -
        (sums[below + left] ?? 0) +
        (sums[above + left] ?? 0);
      means[y * widthPx + x] = sum / ((bottom - top) * (right - left));
    }
  }
  return means;
}

/** The sum of all that is above and to the left of each corner. */
function areaSums(values: ArrayLike<number>, { widthPx, heightPx }: Size): Float64Array {
  const across = widthPx + 1;
  const sums = new Float64Array(across * (heightPx + 1));
  for (let y = 0; y < heightPx; y += 1) {
    let row = 0;
    for (let x = 0; x < widthPx; x += 1) {
      row += values[y * widthPx + x] ?? 0;
      sums[(y + 1) * across + x + 1] = (sums[y * across + x + 1] ?? 0) + row;
    }
  }
  return sums;
}

/** Pixels of a picture for each cell of a tile. A picture is rarely scaled alike in both directions: its sides are whole pixels. */
export interface Scale {
  readonly across: number;
  readonly down: number;
}

/** All tiles of a plane laid on one another: a sum for each cell and a part of its neighbours, by `y * tilePx + x`. */
export function foldTiles({ data, widthPx, heightPx }: Plane, { across, down }: Scale): Float64Array {
  const folded = new Float64Array(tilePx ** 2);
  const columns = Int32Array.from({ length: widthPx }, (_, x) => Math.floor((x + 0.5) / across) % tilePx);
  for (let y = 0; y < heightPx; y += 1) {
    const row = (Math.floor((y + 0.5) / down) % tilePx) * tilePx;
    const start = y * widthPx;
    for (let x = 0; x < widthPx; x += 1) {
      const cell = row + (columns[x] ?? 0);
      folded[cell] = (folded[cell] ?? 0) + (data[start + x] ?? 0);
    }
  }
  return smoothed(smoothed(folded, 1), tilePx);
}

/** The middle of a chip says more than its edge, which runs into the next one. */
function smoothed(cells: Float64Array, step: number): Float64Array {
  const found = new Float64Array(cells.length);
  const row = step * tilePx;
  for (let at = 0; at < cells.length; at += 1) {
    const start = at - (at % row);
    const before = cells[start + ((at + row - step) % row)] ?? 0;
    const after = cells[start + ((at + step) % row)] ?? 0;
    found[at] = (cells[at] ?? 0) / 2 + (before + after) / 4;
  }
  return found;
}

/** The middle of a plane, with sides of at most so many pixels. */
export function middleOf(plane: Plane, sidePx: number): Plane {
  const [widthPx, heightPx] = [Math.min(plane.widthPx, sidePx), Math.min(plane.heightPx, sidePx)];
  const [left, top] = [(plane.widthPx - widthPx) >> 1, (plane.heightPx - heightPx) >> 1];
  const data = new Float32Array(widthPx * heightPx);
  for (let y = 0; y < heightPx; y += 1) {
    const start = (top + y) * plane.widthPx + left;
    data.set(plane.data.subarray(start, start + widthPx), y * widthPx);
  }
  return { data, widthPx, heightPx };
}
