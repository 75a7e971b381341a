import type { CV } from "@techstark/opencv-js";
import { byteAt, doubleAt, intAt } from "./cells.ts";
import { components } from "./components.ts";
import { maskWhere, type Mask } from "./grid.ts";

export interface LargestComponent {
  readonly mask: Mask;
  /** Its share of the area of all pieces. */
  readonly share: number;
}

/** The piece with the largest area, or with the largest overlap with `prefer`. */
export function largestComponent(cv: CV, mask: Mask, prefer?: Mask): LargestComponent {
  const { labels, count, areas } = components(cv, mask);
  const scores = prefer ? new Float64Array(count) : areas;
  if (prefer) {
    for (let i = 0; i < labels.length; i++) {
      scores[intAt(labels, i)] = doubleAt(scores, intAt(labels, i)) + byteAt(prefer.data, i);
    }
  }
  let best = 0;
  let total = 0;
  for (let label = 1; label < count; label++) {
    total += doubleAt(areas, label);
    if (best === 0 || doubleAt(scores, label) > doubleAt(scores, best)) best = label;
  }
  const share = total > 0 ? doubleAt(areas, best) / total : 0;
  return { mask: maskWhere(mask, (i) => best > 0 && intAt(labels, i) === best), share };
}
