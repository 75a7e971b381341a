import { floatAt } from "./cells.ts";
import { clamp } from "./clamp.ts";
import type { Plane } from "./grid.ts";

/** Bilinear sample; positions outside are moved to the edge. */
export function sampleLinear({ data, width, height }: Plane, x: number, y: number): number {
  const insideX = clamp(x, 0, width - 1.001);
  const insideY = clamp(y, 0, height - 1.001);
  const column = insideX | 0;
  const row = insideY | 0;
  const u = insideX - column;
  const v = insideY - row;
  const i = row * width + column;
  return (
    (floatAt(data, i) * (1 - u) + floatAt(data, i + 1) * u) * (1 - v) +
    (floatAt(data, i + width) * (1 - u) + floatAt(data, i + width + 1) * u) * v
  );
}
