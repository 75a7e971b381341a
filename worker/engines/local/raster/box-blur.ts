import { doubleAt, floatAt } from "./cells.ts";
import { clamp } from "./clamp.ts";
import type { Plane, Size } from "./grid.ts";

/** Box blur of `radius` px, `passes` times (3 is close to a Gaussian). Edges are clamped. The input stays as it is. */
export function boxBlur(plane: Plane, radius: number, passes = 3): Plane {
  const { width, height } = plane;
  const result = Float32Array.from(plane.data);
  const between = new Float32Array(result.length);
  for (let pass = 0; pass < passes; pass++) {
    for (let y = 0; y < height; y++) blurRow(result, between, { start: y * width, width, radius });
    blurColumns(between, result, { width, height, radius });
  }
  return { data: result, width, height };
}

function blurRow(
  from: Float32Array,
  to: Float32Array,
  row: { start: number; width: number; radius: number },
) {
  const { start, width, radius } = row;
  const last = width - 1;
  const weight = 1 / (2 * radius + 1);
  let sum = 0;
  for (let k = -radius; k <= radius; k++) sum += floatAt(from, start + clamp(k, 0, last));
  for (let x = 0; x < width; x++) {
    to[start + x] = sum * weight;
    const entering = x + radius + 1 > last ? last : x + radius + 1;
    const leaving = x < radius ? 0 : x - radius;
    sum += floatAt(from, start + entering) - floatAt(from, start + leaving);
  }
}

/** All columns at once, row by row: going down each column by itself would miss the cache at every step. */
function blurColumns(from: Float32Array, to: Float32Array, shape: Size & { radius: number }): void {
  const { width, height, radius } = shape;
  const last = height - 1;
  const weight = 1 / (2 * radius + 1);
  const sums = new Float64Array(width);
  for (let k = -radius; k <= radius; k++) {
    const row = clamp(k, 0, last) * width;
    for (let x = 0; x < width; x++) sums[x] = doubleAt(sums, x) + floatAt(from, row + x);
  }
  for (let y = 0; y < height; y++) {
    const row = y * width;
    const entering = Math.min(last, y + radius + 1) * width;
    const leaving = Math.max(0, y - radius) * width;
    for (let x = 0; x < width; x++) {
      const sum = doubleAt(sums, x);
      to[row + x] = sum * weight;
      sums[x] = sum + floatAt(from, entering + x) - floatAt(from, leaving + x);
    }
  }
}
