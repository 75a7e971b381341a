import { byteAt, intAt } from "./cells.ts";
import type { Mask } from "./grid.ts";

/** Grows a mask by a disc of `radiusPx`, by the distance along each row and the half width of the disc per row offset. */
export function dilateDisc(mask: Mask, radiusPx: number): Mask {
  const { width, height } = mask;
  const along = rowDistances(mask);
  const data = new Uint8Array(width * height);
  for (let dy = -radiusPx; dy <= radiusPx; dy++) {
    const half = Math.floor(Math.sqrt(radiusPx * radiusPx - dy * dy));
    const first = Math.max(0, -dy) * width;
    const end = Math.min(height, height - dy) * width;
    const shift = dy * width;
    for (let i = first; i < end; i++) if (intAt(along, i + shift) <= half) data[i] = 1;
  }
  return { data, width, height };
}

/** For each pixel the distance to the nearest set pixel of its row. */
function rowDistances({ data, width, height }: Mask): Int32Array {
  const far = width + height;
  const along = new Int32Array(data.length);
  for (let row = 0; row < data.length; row += width) {
    let distance = far;
    for (let i = row; i < row + width; i++) {
      distance = byteAt(data, i) ? 0 : distance + 1;
      along[i] = distance;
    }
    distance = far;
    for (let i = row + width - 1; i >= row; i--) {
      distance = byteAt(data, i) ? 0 : distance + 1;
      if (distance < intAt(along, i)) along[i] = distance;
    }
  }
  return along;
}
