import { boxBlur } from "./box-blur.ts";
import { floatAt } from "./cells.ts";
import type { Plane } from "./grid.ts";

/** Blur of each plane that averages only pixels with weight; 0 where none is near. */
export function maskedBlur<Planes extends readonly Plane[]>(
  planes: Planes,
  weights: Plane,
  radius: number,
): { [Index in keyof Planes]: Plane } {
  const totals = boxBlur(weights, radius).data;
  return planes.map((plane) => {
    const sums = boxBlur({ ...plane, data: weighted(plane.data, weights.data) }, radius).data;
    for (let i = 0; i < sums.length; i++) {
      const total = floatAt(totals, i);
      sums[i] = total > 1e-4 ? floatAt(sums, i) / total : 0;
    }
    return { ...plane, data: sums };
    // `map` keeps the length of the tuple, which its type does not say.
  }) as { [Index in keyof Planes]: Plane };
}

function weighted(values: Float32Array, weights: Float32Array): Float32Array {
  const result = new Float32Array(values.length);
  for (let i = 0; i < result.length; i++) result[i] = floatAt(values, i) * floatAt(weights, i);
  return result;
}
