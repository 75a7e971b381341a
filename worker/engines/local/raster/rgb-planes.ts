import { byteAt } from "./cells.ts";
import type { Plane, Rgb } from "./grid.ts";

export type Planes = readonly [red: Plane, green: Plane, blue: Plane];

/** The three channels as float planes, 0..255. */
export function rgbPlanes({ data, width, height }: Rgb): Planes {
  const plane = (channel: number): Plane => {
    const cells = new Float32Array(width * height);
    for (let i = 0; i < cells.length; i++) cells[i] = byteAt(data, i * 3 + channel);
    return { data: cells, width, height };
  };
  return [plane(0), plane(1), plane(2)];
}

/** Luma of each pixel, 0..255. */
export function lumaPlane({ data, width, height }: Rgb): Plane {
  const cells = new Float32Array(width * height);
  for (let i = 0; i < cells.length; i++) {
    cells[i] =
      0.299 * byteAt(data, i * 3) + 0.587 * byteAt(data, i * 3 + 1) + 0.114 * byteAt(data, i * 3 + 2);
  }
  return { data: cells, width, height };
}
