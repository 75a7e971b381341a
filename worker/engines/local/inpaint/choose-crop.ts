import { byteAt } from "../raster/cells.ts";
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
  const { data, width, height } = mask;
  let [left, right, top, bottom] = [width, -1, height, -1];
  for (let i = 0; i < data.length; i++) {
    if (!byteAt(data, i)) continue;
    const x = i % width;
    const y = Math.floor(i / width);
    if (x < left) left = x;
    if (x > right) right = x;
    if (y < top) top = y;
    if (y > bottom) bottom = y;
  }
  const margin = Math.max(leastMarginPx, Math.round(marginShare * Math.max(right - left, bottom - top)));
  left = Math.max(0, left - margin);
  top = Math.max(0, top - margin);
  return {
    left,
    top,
    width: Math.min(width, right + margin + 1) - left,
    height: Math.min(height, bottom + margin + 1) - top,
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
