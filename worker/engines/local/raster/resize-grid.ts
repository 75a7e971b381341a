import type { CV } from "@techstark/opencv-js";
import type { Grid, Mask, Size } from "./grid.ts";

/** Resizes bytes with 1 or 3 channels: area average when shrinking, linear when growing. */
export function resizeGrid(cv: CV, grid: Grid<Uint8Array>, size: Size): Grid<Uint8Array> {
  return resizeWith(cv, grid, { size, method: size.width < grid.width ? cv.INTER_AREA : cv.INTER_LINEAR });
}

/** Resizes labels or a mask without mixing values. */
export function resizeNearest(cv: CV, grid: Grid<Uint8Array>, size: Size): Grid<Uint8Array> {
  return resizeWith(cv, grid, { size, method: cv.INTER_NEAREST });
}

/** Resizes a mask with a smooth outline. */
export function resizeMask(cv: CV, mask: Mask, size: Size): Mask {
  const grey = { ...mask, data: mask.data.map((value) => value * 255) };
  const large = resizeGrid(cv, grey, size);
  return { ...large, data: large.data.map((value) => (value > 127 ? 1 : 0)) };
}

function resizeWith(cv: CV, grid: Grid<Uint8Array>, to: { size: Size; method: number }): Grid<Uint8Array> {
  const isGrey = grid.data.length === grid.width * grid.height;
  const from = cv.matFromArray(grid.height, grid.width, isGrey ? cv.CV_8UC1 : cv.CV_8UC3, grid.data);
  const result = new cv.Mat();
  const { width, height } = to.size;
  cv.resize(from, result, new cv.Size(width, height), 0, 0, to.method);
  const data = Uint8Array.from(result.data as Uint8Array);
  from.delete();
  result.delete();
  return { data, width, height };
}
