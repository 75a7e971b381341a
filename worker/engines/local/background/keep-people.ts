import type { CV } from "@techstark/opencv-js";
import { doubleAt, intAt } from "../raster/cells.ts";
import { components } from "../raster/components.ts";
import { maskWhere, type Mask } from "../raster/grid.ts";

/** A piece smaller than this share of the largest is no person of the picture. */
const leastShareOfLargest = 0.08;

/** Drops crumbs; a group of people may be several pieces. */
export function keepPeople(cv: CV, mask: Mask): Mask {
  const { labels, areas } = components(cv, mask);
  const largest = areas.slice(1).reduce((most, area) => Math.max(most, area), 0);
  return maskWhere(mask, (i) => {
    const label = intAt(labels, i);
    return label > 0 && doubleAt(areas, label) >= leastShareOfLargest * largest;
  });
}
