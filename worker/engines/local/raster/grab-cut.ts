import type { CV } from "@techstark/opencv-js";
import type { Grey, Mask, Rgb } from "./grid.ts";

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
