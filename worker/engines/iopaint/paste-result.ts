import { byteAt } from "../local/raster/cells.ts";
import type { Mask } from "../local/raster/grid.ts";
import type { Picture } from "../local/picture/read-picture.ts";
import type { Result } from "./read-result.ts";

/** Writes the result into `picture` where the mask is set; every other pixel, and all transparency, stays as it was. */
export function pasteResult(picture: Picture, result: Result, mask: Mask): void {
  const { data } = picture;
  for (let i = 0; i < mask.data.length; i++) {
    if (!mask.data[i]) continue;
    for (let c = 0; c < 3; c++) data[i * 3 + c] = byteAt(result.data, i * result.channels + c);
  }
}
