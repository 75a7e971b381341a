import { byteAt } from "./cells.ts";
import { maskWhere, type Mask } from "./grid.ts";

export function invert(mask: Mask): Mask {
  return maskWhere(mask, (i) => byteAt(mask.data, i) === 0);
}
