import { floatAt } from "./cells.ts";
import { clamp } from "./clamp.ts";
import type { Plane } from "./grid.ts";

/** Box blur of `radius` px, `passes` times (3 is close to a Gaussian). Edges are clamped. The input stays as it is. */
export function boxBlur(plane: Plane, radius: number, passes = 3): Plane {
  const { width, height } = plane;
  const result = Float32Array.from(plane.data);
  const between = new Float32Array(result.length);
  for (let pass = 0; pass < passes; pass++) {
    for (let y = 0; y < height; y++) {
      blurLine({ from: result, to: between }, { start: y * width, step: 1, count: width }, radius);
    }
    for (let x = 0; x < width; x++) {
      blurLine({ from: between, to: result }, { start: x, step: width, count: height }, radius);
    }
  }
  return { data: result, width, height };
}

interface Line {
  readonly start: number;
  readonly step: number;
  readonly count: number;
}

function blurLine(cells: { from: Float32Array; to: Float32Array }, line: Line, radius: number): void {
  const { from, to } = cells;
  const { start, step, count } = line;
  const last = count - 1;
  const weight = 1 / (2 * radius + 1);
  let sum = 0;
  for (let k = -radius; k <= radius; k++) sum += floatAt(from, start + clamp(k, 0, last) * step);
  for (let k = 0; k < count; k++) {
    to[start + k * step] = sum * weight;
    const entering = k + radius + 1 > last ? last : k + radius + 1;
    const leaving = k < radius ? 0 : k - radius;
    sum += floatAt(from, start + entering * step) - floatAt(from, start + leaving * step);
  }
}
