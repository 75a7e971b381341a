import type { CV } from "@techstark/opencv-js";
import { boxBlur } from "../raster/box-blur.ts";
import { byteAt, doubleAt, floatAt, intAt } from "../raster/cells.ts";
import { components } from "../raster/components.ts";
import { fillHoles } from "../raster/fill-holes.ts";
import { maskWhere, planeOf, type Mask } from "../raster/grid.ts";
import { morph } from "../raster/filters.ts";
import type { Region } from "./region.ts";
import type { Scene } from "./scene.ts";

/** Closes gaps, swallows thin rims of old clothes, calms the outline and drops crumbs. */
export function smoothRegion({ cv, frame, clothes }: Scene, { painted, blocked, body }: Region): Mask {
  const unit = frame.shoulderWidthPx;
  const closed = morph(cv, morph(cv, painted, ["close", 0.03 * unit]), ["open", 2]);
  const whole = fillHoles(cv, closed, { accept: (areaPx) => areaPx < (0.14 * unit) ** 2 });
  const rest = maskWhere(whole, (i) => {
    return byteAt(clothes.mask.data, i) === 1 && !byteAt(whole.data, i) && !byteAt(blocked.data, i);
  });
  const withRims = swallowRims(cv, { whole, rest }, unit);
  const blurred = boxBlur(planeOf(withRims), Math.max(2, Math.round(0.02 * unit)), 2).data;
  const calm = maskWhere(withRims, (i) => {
    return floatAt(blurred, i) > 0.5 && (byteAt(withRims.data, i) === 1 || byteAt(body.data, i) === 1);
  });
  const grown = morph(cv, calm, ["dilate", 1]);
  const free = maskWhere(grown, (i) => byteAt(grown.data, i) === 1 && !byteAt(blocked.data, i));
  return dropCrumbs(cv, free);
}

/** Old clothes beside the garment that are too thin to be a part of their own: shoulder tops, edges of arms. */
function swallowRims(cv: CV, { whole, rest }: { whole: Mask; rest: Mask }, unit: number): Mask {
  const thick = morph(cv, rest, ["open", Math.max(2, 0.05 * unit)]);
  const near = morph(cv, whole, ["dilate", 0.1 * unit]);
  return maskWhere(whole, (i) => {
    const isRim = byteAt(rest.data, i) === 1 && !byteAt(thick.data, i) && byteAt(near.data, i) === 1;
    return isRim || byteAt(whole.data, i) === 1;
  });
}

function dropCrumbs(cv: CV, mask: Mask): Mask {
  const { labels, areas } = components(cv, mask);
  const largest = areas.slice(1).reduce((most, area) => Math.max(most, area), 0);
  return maskWhere(
    mask,
    (i) => byteAt(mask.data, i) === 1 && doubleAt(areas, intAt(labels, i)) >= 0.03 * largest,
  );
}
