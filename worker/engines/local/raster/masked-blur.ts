import { boxBlur } from "./box-blur.ts";
import { floatAt } from "./cells.ts";
import type { Plane } from "./grid.ts";

/** Blur of `plane` that averages only pixels with weight; 0 where none is near. */
export function maskedBlur(plane: Plane, weights: Plane, radius: number): Plane {
  const weighted = plane.data.map((value, i) => value * floatAt(weights.data, i));
  const sums = boxBlur({ ...plane, data: weighted }, radius).data;
  const totals = boxBlur(weights, radius).data;
  for (let i = 0; i < sums.length; i++) {
    const total = floatAt(totals, i);
    sums[i] = total > 1e-4 ? floatAt(sums, i) / total : 0;
  }
  return { ...plane, data: sums };
}
