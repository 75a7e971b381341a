import type { CV } from "@techstark/opencv-js";
import { floatAt } from "./cells.ts";
import type { Mask } from "./grid.ts";
import { invert } from "./invert.ts";

export type MorphStep = "erode" | "dilate" | "open" | "close";

/** A large disc is slow as a kernel: above this radius the distance transform does the same. */
const largestKernelPx = 7;

/** Morphology of a mask with a disc of `radius` px (rounded). */
export function morph(cv: CV, mask: Mask, [step, radius]: readonly [MorphStep, number]): Mask {
  const r = Math.round(radius);
  if (r < 1) return { ...mask, data: Uint8Array.from(mask.data) };
  return r > largestKernelPx ? morphByDistance(cv, mask, [step, r]) : morphByKernel(cv, mask, [step, r]);
}

function morphByKernel(cv: CV, mask: Mask, [step, radius]: readonly [MorphStep, number]): Mask {
  const side = 2 * radius + 1;
  const kernel = cv.getStructuringElement(cv.MORPH_ELLIPSE, new cv.Size(side, side));
  const mat = cv.matFromArray(mask.height, mask.width, cv.CV_8UC1, mask.data);
  const operation = {
    open: cv.MORPH_OPEN,
    close: cv.MORPH_CLOSE,
    erode: cv.MORPH_ERODE,
    dilate: cv.MORPH_DILATE,
  }[step];
  cv.morphologyEx(mat, mat, operation, kernel);
  const data = Uint8Array.from(mat.data as Uint8Array);
  mat.delete();
  kernel.delete();
  return { ...mask, data };
}

function morphByDistance(cv: CV, mask: Mask, [step, radius]: readonly [MorphStep, number]): Mask {
  const dilate = (m: Mask) => grow(cv, m, radius);
  const erode = (m: Mask) => invert(grow(cv, invert(m), radius));
  switch (step) {
    case "dilate":
      return dilate(mask);
    case "erode":
      return erode(mask);
    case "open":
      return dilate(erode(mask));
    case "close":
      return erode(dilate(mask));
  }
}

function grow(cv: CV, mask: Mask, radius: number): Mask {
  const mat = cv.matFromArray(mask.height, mask.width, cv.CV_8UC1, invert(mask).data);
  const distance = new cv.Mat();
  cv.distanceTransform(mat, distance, cv.DIST_L2, 3);
  const floats = distance.data32F as Float32Array;
  const data = new Uint8Array(mask.data.length);
  for (let i = 0; i < data.length; i++) data[i] = floatAt(floats, i) <= radius ? 1 : 0;
  mat.delete();
  distance.delete();
  return { ...mask, data };
}
