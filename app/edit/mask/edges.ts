import { bandsOf, type Box, mapBox, type Raster, usedBox } from "./raster.ts";

/** From this grey on a px is marked, for all engines that know no soft edge. */
export const leastMarked = 128;

/** Greys of a part of the picture, row by row. */
interface Field {
  readonly box: Box;
  readonly greys: Uint8Array;
  readonly width: number;
  readonly height: number;
}

/** What is marked, with a margin; null when nothing is. */
function fieldOf(raster: Raster, marginPx: number): Field | null {
  const box = usedBox(raster, marginPx);
  if (box === null) return null;
  const [width, height] = [box.right - box.left, box.bottom - box.top];
  const greys = new Uint8Array(width * height);
  let top = 0;
  for (const band of bandsOf(raster)) {
    const rows = band.length / raster.widthPx;
    for (let y = Math.max(top, box.top); y < Math.min(top + rows, box.bottom); y += 1) {
      const from = (y - top) * raster.widthPx;
      greys.set(band.subarray(from + box.left, from + box.right), (y - box.top) * width);
    }
    top += rows;
  }
  return { box, greys, width, height };
}

const far = 1e9;

/**
 * Squared distances along one line: to each place the least of `costs[i] + (place - i)²`, as the lower envelope of parabolas
 * (Felzenszwalb and Huttenlocher, "Distance Transforms of Sampled Functions"). Writes over `costs`.
 */
function createEnvelope(length: number) {
  const roots = new Int32Array(length);
  const bounds = new Float64Array(length + 1);
  const copy = new Float32Array(length);
  return (costs: Float32Array): void => {
    copy.set(costs);
    const meet = (a: number, b: number) => ((copy[b] ?? 0) + b * b - (copy[a] ?? 0) - a * a) / (2 * (b - a));
    let last = 0;
    roots[0] = 0;
    bounds[0] = -Infinity;
    bounds[1] = Infinity;
    for (let place = 1; place < length; place += 1) {
      let from = meet(roots[last] ?? 0, place);
      while (last > 0 && from <= (bounds[last] ?? 0)) {
        last -= 1;
        from = meet(roots[last] ?? 0, place);
      }
      last += 1;
      roots[last] = place;
      bounds[last] = from;
      bounds[last + 1] = Infinity;
    }
    last = 0;
    for (let place = 0; place < length; place += 1) {
      while ((bounds[last + 1] ?? 0) < place) last += 1;
      const root = roots[last] ?? 0;
      costs[place] = (place - root) ** 2 + (copy[root] ?? 0);
    }
  };
}

/** Squared distance in px from the middle of each px to that of the nearest one for which `is` is true. */
function distances2({ greys, width, height }: Field, is: (grey: number) => boolean): Float32Array {
  const result = Float32Array.from(greys, (grey) => (is(grey) ? 0 : far));
  const down = createEnvelope(height);
  const column = new Float32Array(height);
  for (let x = 0; x < width; x += 1) {
    for (let y = 0; y < height; y += 1) column[y] = result[y * width + x] ?? 0;
    down(column);
    for (let y = 0; y < height; y += 1) result[y * width + x] = column[y] ?? 0;
  }
  const along = createEnvelope(width);
  for (let y = 0; y < height; y += 1) along(result.subarray(y * width, (y + 1) * width));
  return result;
}

/** Grey of a px whose middle is so far inside the last one that is marked. */
const edgeGrey = (insidePx: number) => Math.round(255 * Math.min(1, Math.max(0, insidePx + 1)));

/** Marks all that is at most `px` from what is marked. The new edge is sharp. */
export function growRaster(raster: Raster, px: number): Raster {
  const field = fieldOf(raster, px + 1);
  if (field === null) return raster;
  const distances = distances2(field, (grey) => grey >= leastMarked);
  return mapBox(raster, field.box, (at) => edgeGrey(px - Math.sqrt(distances[at] ?? far)));
}

/** Leaves what is further than `px` from what is not marked; the side of the picture is no edge. The new edge is sharp. */
export function shrinkRaster(raster: Raster, px: number): Raster {
  const field = fieldOf(raster, 1);
  if (field === null) return raster;
  const distances = distances2(field, (grey) => grey < leastMarked);
  return mapBox(raster, field.box, (at) => edgeGrey(Math.sqrt(distances[at] ?? far) - px - 2));
}

interface Lines {
  readonly values: Float32Array<ArrayBuffer>;
  readonly width: number;
  readonly height: number;
}

/** Each px becomes the mean of its row from `reach` px before to `reach` px after it; the ends of a row go on. */
function blurRows({ values, width, height }: Lines, reach: number): Float32Array<ArrayBuffer> {
  const result = new Float32Array(values.length);
  for (let y = 0; y < height; y += 1) {
    const from = y * width;
    const at = (x: number) => values[from + Math.min(width - 1, Math.max(0, x))] ?? 0;
    let sum = 0;
    for (let x = -reach; x < reach; x += 1) sum += at(x);
    for (let x = 0; x < width; x += 1) {
      sum += at(x + reach);
      result[from + x] = sum / (2 * reach + 1);
      sum -= at(x - reach);
    }
  }
  return result;
}

/** As `blurRows` along the columns, which are summed side by side as the memory lies. */
function blurColumns({ values, width, height }: Lines, reach: number): Float32Array<ArrayBuffer> {
  const result = new Float32Array(values.length);
  const sums = new Float64Array(width);
  const add = (row: number, sign: 1 | -1) => {
    const from = Math.min(height - 1, Math.max(0, row)) * width;
    for (let x = 0; x < width; x += 1) sums[x] = (sums[x] ?? 0) + sign * (values[from + x] ?? 0);
  };
  for (let y = -reach; y < reach; y += 1) add(y, 1);
  for (let y = 0; y < height; y += 1) {
    add(y + reach, 1);
    for (let x = 0; x < width; x += 1) result[y * width + x] = (sums[x] ?? 0) / (2 * reach + 1);
    add(y - reach, -1);
  }
  return result;
}

/** Three means after each other are close to a bell curve. */
const means = 3;

/** Softens the edge over about `px` at each side of it. */
export function featherRaster(raster: Raster, px: number): Raster {
  const reach = Math.max(1, Math.round(px / means));
  const field = fieldOf(raster, reach * means + 1);
  if (field === null) return raster;
  const { width, height } = field;
  let values = Float32Array.from(field.greys);
  for (let pass = 0; pass < means; pass += 1) {
    values = blurColumns({ values, width, height }, reach);
    values = blurRows({ values, width, height }, reach);
  }
  return mapBox(raster, field.box, (at) => Math.round(values[at] ?? 0));
}

const marked = new WeakMap<Raster, boolean>();

/** Whether some px is marked, as the engines count it. */
export function isMarked(raster: Raster): boolean {
  const known = marked.get(raster);
  if (known !== undefined) return known;
  const is = raster.tiles.some((tile) => tile?.some((grey) => grey >= leastMarked) ?? false);
  marked.set(raster, is);
  return is;
}
