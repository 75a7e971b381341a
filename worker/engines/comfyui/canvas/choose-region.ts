import { maskBounds } from "../../mask-bounds.ts";
import type { GreyMask } from "./read-mask.ts";
import type { Region, Size } from "./size.ts";

/** Margin around what is marked, as a share of its longer side: what the model sees of the rest. */
const marginShare = 0.5;
const leastMarginPx = 128;
/** Models make nothing good of smaller pictures. */
const leastSidePx = 768;
/** What is nearly the whole picture is taken whole. */
const wholeShare = 0.6;

/** The part of the picture that a model is given to repaint what is marked. */
export function chooseRegion(mask: GreyMask): Region {
  const marked = maskBounds(mask);
  const margin = Math.max(leastMarginPx, Math.round(marginShare * Math.max(marked.width, marked.height)));
  const across = widen([marked.left, marked.width], margin, mask.width);
  const down = widen([marked.top, marked.height], margin, mask.height);
  const region = { left: across.start, top: down.start, width: across.length, height: down.length };
  return region.width * region.height > wholeShare * mask.width * mask.height ? whole(mask) : region;
}

export function whole({ width, height }: Size): Region {
  return { left: 0, top: 0, width, height };
}

/** A span with its margin, at least as long as a model needs, inside of `endPx`. */
function widen([startPx, lengthPx]: [number, number], marginPx: number, endPx: number) {
  const length = Math.min(endPx, Math.max(leastSidePx, lengthPx + 2 * marginPx));
  const centered = Math.round(startPx + lengthPx / 2 - length / 2);
  return { start: Math.max(0, Math.min(endPx - length, centered)), length };
}
