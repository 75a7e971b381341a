import { roundUp, type Region, type Size } from "./size.ts";

/** How a part of a picture is laid out for a server. */
export interface Canvas {
  /** The part, in pixels of the picture. */
  readonly region: Region;
  /** The part as it is sent: never larger. */
  readonly work: Size;
  /** With the margin right and below that makes its sides fit the workflow. */
  readonly padded: Size;
}

/** Sides of `padded` are multiples of `multipleOf`; `work` has at most `mostPixels`. */
export function planCanvas(region: Region, multipleOf: number, mostPixels: number): Canvas {
  const scale = Math.min(1, Math.sqrt(mostPixels / (region.width * region.height)));
  const work = {
    width: Math.max(1, Math.round(region.width * scale)),
    height: Math.max(1, Math.round(region.height * scale)),
  };
  return { region, work, padded: roundUp(work, multipleOf) };
}
