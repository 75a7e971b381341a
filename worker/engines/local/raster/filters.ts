import type { CV } from "@techstark/opencv-js";
import {
  byteAt,
  clamp,
  doubleAt,
  floatAt,
  type Grey,
  intAt,
  invert,
  type Mask,
  type Plane,
  type Rgb,
  type Size,
} from "./grid.ts";

/** Box blur of `radius` px, `passes` times (3 is close to a Gaussian). Edges are clamped. The input is not changed. */
export function boxBlur(plane: Plane, radius: number, passes = 3): Plane {
  const { width, height } = plane;
  const result = Float32Array.from(plane.data);
  const between = new Float32Array(result.length);
  for (let pass = 0; pass < passes; pass++) {
    for (let y = 0; y < height; y++) blurRow(result, between, { start: y * width, width, radius });
    blurColumns(between, result, { width, height, radius });
  }
  return { data: result, width, height };
}

function blurRow(
  from: Float32Array,
  to: Float32Array,
  row: { start: number; width: number; radius: number },
) {
  const { start, width, radius } = row;
  const last = width - 1;
  const weight = 1 / (2 * radius + 1);
  let sum = 0;
  for (let k = -radius; k <= radius; k++) sum += floatAt(from, start + clamp(k, 0, last));
  for (let x = 0; x < width; x++) {
    to[start + x] = sum * weight;
    const entering = x + radius + 1 > last ? last : x + radius + 1;
    const leaving = x < radius ? 0 : x - radius;
    sum += floatAt(from, start + entering) - floatAt(from, start + leaving);
  }
}

/** All columns at once, row by row: going down each column by itself would miss the cache at every step. */
function blurColumns(from: Float32Array, to: Float32Array, shape: Size & { radius: number }): void {
  const { width, height, radius } = shape;
  const last = height - 1;
  const weight = 1 / (2 * radius + 1);
  const sums = new Float64Array(width);
  for (let k = -radius; k <= radius; k++) {
    const row = clamp(k, 0, last) * width;
    for (let x = 0; x < width; x++) sums[x] = doubleAt(sums, x) + floatAt(from, row + x);
  }
  for (let y = 0; y < height; y++) {
    const row = y * width;
    const entering = Math.min(last, y + radius + 1) * width;
    const leaving = Math.max(0, y - radius) * width;
    for (let x = 0; x < width; x++) {
      const sum = doubleAt(sums, x);
      to[row + x] = sum * weight;
      sums[x] = sum + floatAt(from, entering + x) - floatAt(from, leaving + x);
    }
  }
}

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

/** Labels of a cut: what is sure and what the cut may still decide. */
export const cutLabel = { background: 0, foreground: 1, maybeBackground: 2, maybeForeground: 3 } as const;

export interface CutStart {
  /** One `cutLabel` per pixel. */
  readonly labels: Grey;
  readonly iterations: number;
}

const seed = 20_251;

/** OpenCV's grabCut. Its k-means draws random numbers: seeded before each call, so that a cut is the same on each run. */
export function grabCut(cv: CV, rgb: Rgb, { labels, iterations }: CutStart): Mask {
  const { width, height } = rgb;
  const image = cv.matFromArray(height, width, cv.CV_8UC3, rgb.data);
  const mask = cv.matFromArray(height, width, cv.CV_8UC1, labels.data);
  const background = new cv.Mat();
  const foreground = new cv.Mat();
  cv.setRNGSeed(seed);
  const whole = new cv.Rect(0, 0, width, height);
  cv.grabCut(image, mask, whole, background, foreground, iterations, cv.GC_INIT_WITH_MASK);
  const data = Uint8Array.from(mask.data as Uint8Array, (value) => value & 1);
  for (const mat of [image, mask, background, foreground]) mat.delete();
  return { data, width, height };
}

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

/** Blur of each plane that averages only pixels with weight; 0 where none is near. */
export function maskedBlur<Planes extends readonly Plane[]>(
  planes: Planes,
  weights: Plane,
  radius: number,
): { [Index in keyof Planes]: Plane } {
  const totals = boxBlur(weights, radius).data;
  return planes.map((plane) => {
    const sums = boxBlur({ ...plane, data: weighted(plane.data, weights.data) }, radius).data;
    for (let i = 0; i < sums.length; i++) {
      const total = floatAt(totals, i);
      sums[i] = total > 1e-4 ? floatAt(sums, i) / total : 0;
    }
    return { ...plane, data: sums };
    // `map` keeps the length of the tuple, which its type does not say.
  }) as { [Index in keyof Planes]: Plane };
}

function weighted(values: Float32Array, weights: Float32Array): Float32Array {
  const result = new Float32Array(values.length);
  for (let i = 0; i < result.length; i++) result[i] = floatAt(values, i) * floatAt(weights, i);
  return result;
}

export type MorphStep = "erode" | "dilate" | "open" | "close";

/** A large disc is slow as a kernel: above this radius the distance transform does the same. */
const maxKernelPx = 7;

/** Morphology of a mask with a disc of `radius` px (rounded). */
export function morph(cv: CV, mask: Mask, [step, radius]: readonly [MorphStep, number]): Mask {
  const r = Math.round(radius);
  if (r < 1) return { ...mask, data: Uint8Array.from(mask.data) };
  return r > maxKernelPx ? morphByDistance(cv, mask, [step, r]) : morphByKernel(cv, mask, [step, r]);
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
