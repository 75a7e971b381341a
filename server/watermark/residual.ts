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
  const means = new Float32Array(widthPx * heightPx);
  // Of each column, the sum of the rows within reach.
  const sums = new Float64Array(widthPx);
  const addRow = (y: number, sign: 1 | -1) => {
    const start = y * widthPx;
    for (let x = 0; x < widthPx; x += 1) sums[x] = (sums[x] ?? 0) + sign * (values[start + x] ?? 0);
  };
  for (let y = 0; y < Math.min(heightPx, reachPx); y += 1) addRow(y, 1);
  for (let y = 0; y < heightPx; y += 1) {
    if (y + reachPx < heightPx) addRow(y + reachPx, 1);
    if (y > reachPx) addRow(y - reachPx - 1, -1);
    const rows = Math.min(heightPx, y + reachPx + 1) - Math.max(0, y - reachPx);
    slideAlong(sums, rows, reachPx, means.subarray(y * widthPx, (y + 1) * widthPx));
  }
  return means;
}

/** Writes a row of means, of the sums of so many rows. */
function slideAlong(sums: Float64Array, rows: number, reachPx: number, means: Float32Array): void {
  let [sum, columns] = [0, 0];
  for (let x = -reachPx; x < means.length; x += 1) {
    if (x + reachPx < means.length) {
      sum += sums[x + reachPx] ?? 0;
      columns += 1;
    }
    if (x > reachPx) {
      sum -= sums[x - reachPx - 1] ?? 0;
      columns -= 1;
    }
    if (x >= 0) means[x] = sum / (columns * rows);
  }
}

/** Pixels of a picture for each cell of a tile. A picture is rarely scaled alike in both directions: its sides are whole pixels. */
export interface Scale {
  readonly across: number;
  readonly down: number;
}

/** All tiles of a plane laid on one another: a sum for each cell and a part of its neighbours, by `y * tilePx + x`. */
export function foldTiles(plane: Plane, { across, down }: Scale): Float64Array {
  return foldColumns(foldRows(plane, down), across);
}

/** The rows of all tiles laid on one another: `tilePx` rows, as wide as the plane. */
export function foldRows({ data, widthPx, heightPx }: Plane, down: number): Float64Array {
  const folded = new Float64Array(tilePx * widthPx);
  for (let y = 0; y < heightPx; y += 1) {
    const to = (Math.floor((y + 0.5) / down) % tilePx) * widthPx;
    const from = y * widthPx;
    for (let x = 0; x < widthPx; x += 1) folded[to + x] = (folded[to + x] ?? 0) + (data[from + x] ?? 0);
  }
  return folded;
}

/** The rest of `foldTiles`, of what `foldRows` gave. */
export function foldColumns(rows: Float64Array, across: number): Float64Array {
  const widthPx = rows.length / tilePx;
  const folded = new Float64Array(tilePx ** 2);
  const columns = Int32Array.from({ length: widthPx }, (_, x) => Math.floor((x + 0.5) / across) % tilePx);
  for (let y = 0; y < tilePx; y += 1)
    for (let x = 0; x < widthPx; x += 1) {
      const cell = y * tilePx + (columns[x] ?? 0);
      folded[cell] = (folded[cell] ?? 0) + (rows[y * widthPx + x] ?? 0);
    }
  return smoothed(smoothed(folded, 1), tilePx);
}

/** The middle of a chip says more than its edge, which runs into the next one. */
function smoothed(cells: Float64Array, step: number): Float64Array {
  const found = new Float64Array(cells.length);
  // A tile has a power of two cells along a side.
  const within = step * tilePx - 1;
  for (let at = 0; at < cells.length; at += 1) {
    const start = at & ~within;
    const before = cells[start | ((at - step) & within)] ?? 0;
    const after = cells[start | ((at + step) & within)] ?? 0;
    found[at] = (cells[at] ?? 0) / 2 + (before + after) / 4;
  }
  return found;
}

/**
 * A square of a plane with sides of at most so many pixels: its middle, or where at least twice as much is left to see, since in the
 * middle may be nothing but white or black.
 */
export function clearestSquare(plane: Plane, sidePx: number): Plane {
  const [widthPx, heightPx] = [Math.min(plane.widthPx, sidePx), Math.min(plane.heightPx, sidePx)];
  const [across, down] = [plane.widthPx - widthPx, plane.heightPx - heightPx];
  const square = (left: number, top: number) => partOf(plane, { left, top, widthPx, heightPx });
  let clearest = square(across >> 1, down >> 1);
  let most = 2 * amountOf(clearest);
  for (const [x, y] of otherPlaces) {
    const other = square(Math.floor(across * x), Math.floor(down * y));
    const amount = amountOf(other);
    if (amount <= most) continue;
    clearest = other;
    most = amount;
  }
  return clearest;
}

/** The corners and the middles of the sides, in parts of the way. */
const otherPlaces = [0, 0.5, 1].flatMap((y) => [0, 0.5, 1].map((x) => [x, y] as const));

function amountOf({ data }: Plane): number {
  let amount = 0;
  for (let at = 0; at < data.length; at += 7) amount += Math.abs(data[at] ?? 0);
  return amount;
}

function partOf(plane: Plane, { left, top, widthPx, heightPx }: Size & { left: number; top: number }): Plane {
  const data = new Float32Array(widthPx * heightPx);
  for (let y = 0; y < heightPx; y += 1) {
    const start = (top + y) * plane.widthPx + left;
    data.set(plane.data.subarray(start, start + widthPx), y * widthPx);
  }
  return { data, widthPx, heightPx };
}
