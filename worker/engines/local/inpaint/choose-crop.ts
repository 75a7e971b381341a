import { maskBounds } from "../../mask-bounds.ts";
import type { Mask } from "../raster/grid.ts";

export interface Crop {
  readonly left: number;
  readonly top: number;
  readonly width: number;
  readonly height: number;
}

const leastMarginPx = 96;
/** Margin around the hole as a share of the hole's longer side: enough picture to copy from. */
const marginShare = 1;

/** The part of the picture that a fill of `mask` looks at. The mask must not be empty. */
export function chooseCrop(mask: Mask): Crop {
  const hole = maskBounds(mask);
  const margin = Math.max(leastMarginPx, Math.round(marginShare * (Math.max(hole.width, hole.height) - 1)));
  const left = Math.max(0, hole.left - margin);
  const top = Math.max(0, hole.top - margin);
  return {
    left,
    top,
    width: Math.min(mask.width, hole.left + hole.width + margin) - left,
    height: Math.min(mask.height, hole.top + hole.height + margin) - top,
  };
}

/** Cuts `crop` out of interleaved cells with `channels` per pixel. */
export function cut(
  cells: Uint8Array,
  widthPx: number,
  { crop, channels }: { crop: Crop; channels: number },
) {
  const part = new Uint8Array(crop.width * crop.height * channels);
  for (let row = 0; row < crop.height; row++) {
    const from = ((crop.top + row) * widthPx + crop.left) * channels;
    part.set(cells.subarray(from, from + crop.width * channels), row * crop.width * channels);
  }
  return part;
}
