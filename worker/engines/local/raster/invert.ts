import type { Mask } from "./grid.ts";

export function invert(mask: Mask): Mask {
  return { ...mask, data: mask.data.map((value) => (value ? 0 : 1)) };
}
