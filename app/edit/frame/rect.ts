import type { Size } from "@atelier/server/retouch";

export interface Move {
  readonly x: number;
  readonly y: number;
}

/** The sides that a handle moves: -1 left or top, 1 right or bottom, 0 neither. */
export interface Handle {
  readonly x: -1 | 0 | 1;
  readonly y: -1 | 0 | 1;
}

/** Of what moves the whole frame. */
export const middle: Handle = { x: 0, y: 0 };

/** Width ÷ height of each preset; upright ones are the same, turned. */
const ratios = {
  free: null,
  original: null,
  "1:1": 1,
  "5:4": 5 / 4,
  "4:3": 4 / 3,
  "3:2": 3 / 2,
  "16:9": 16 / 9,
  "2:1": 2,
} as const satisfies Record<string, number | null>;
export type RatioName = keyof typeof ratios;
// Safe cast: the keys of a record of ratios.
export const ratioNames = Object.keys(ratios) as RatioName[];

export interface Shape {
  readonly ratio: RatioName;
  /** The ratio is turned: 4:5 instead of 5:4. */
  readonly isTall: boolean;
}

/** Those that mean the same for pictures of any size. */
export const fixedRatios = ratioNames.filter((name) => name !== "free" && name !== "original");

/** `4:5` of the preset `5:4` that is turned. */
export function shownRatio({ ratio, isTall }: Shape): string {
  return isTall ? ratio.split(":").toReversed().join(":") : ratio;
}

/** Width ÷ height that a frame of a picture must have; null when it is free. */
export function ratioOf(picture: Size, { ratio, isTall }: Shape): number | null {
  if (ratio === "free") return null;
  if (ratio === "original") return picture.width / picture.height;
  const wide = ratios[ratio];
  return isTall ? 1 / wide : wide;
}

export const lerp = (from: number, to: number, part: number): number => from + (to - from) * part;

const halvings = 24;

/** How far one can go on a way whose beginning is allowed, as a part of it: up to its first end. */
export function farthestPart(isAllowed: (part: number) => boolean): number {
  if (isAllowed(1)) return 1;
  let [good, bad] = [0, 1];
  for (let step = 0; step < halvings; step += 1) {
    const half = (good + bad) / 2;
    if (isAllowed(half)) good = half;
    else bad = half;
  }
  return good;
}

/** A size of this ratio, as wide or as high as a frame was pulled: at a corner the larger of both. */
export function sizeInRatio({ width, height }: Size, handle: Handle, ratio: number): Size {
  const isByHeight = handle.x === 0 || (handle.y !== 0 && height * ratio > width);
  return isByHeight ? { width: height * ratio, height } : { width, height: width / ratio };
}
