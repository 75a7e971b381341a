import { boxBlur } from "./box-blur.ts";
import { floatAt } from "./cells.ts";
import type { Plane } from "./grid.ts";

/** Per pixel a line from brightness to alpha: alpha = slope * guide + offset. */
export interface AlphaLine {
  readonly slope: Plane;
  readonly offset: Plane;
}

/**
 * Guided filter: fits, in a window around each pixel, alpha to the brightness of `guide` (0..1). Edges of the matte move
 * onto edges of the picture. `softness` keeps noise of the guide out of the result.
 */
export function guidedAlpha(
  guide: Plane,
  matte: Plane,
  { radius, softness }: { radius: number; softness: number },
): AlphaLine {
  const times = (a: Plane, b: Plane): Plane => ({
    ...a,
    data: a.data.map((value, i) => value * floatAt(b.data, i)),
  });
  const meanGuide = boxBlur(guide, radius, 1);
  const meanMatte = boxBlur(matte, radius, 1);
  const meanBoth = boxBlur(times(guide, matte), radius, 1);
  const meanSquare = boxBlur(times(guide, guide), radius, 1);
  const slope = meanBoth.data.map((both, i) => {
    const mean = floatAt(meanGuide.data, i);
    const variance = floatAt(meanSquare.data, i) - mean * mean;
    return (both - mean * floatAt(meanMatte.data, i)) / (variance + softness);
  });
  const offset = meanMatte.data.map((mean, i) => mean - floatAt(slope, i) * floatAt(meanGuide.data, i));
  return {
    slope: boxBlur({ ...guide, data: slope }, radius, 1),
    offset: boxBlur({ ...guide, data: offset }, radius, 1),
  };
}
