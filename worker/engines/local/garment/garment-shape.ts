import type { Point } from "../raster/grid.ts";
import type { Sides } from "../people/body.ts";

/** First and last column of the run of cloth around the middle column. */
export interface Run {
  readonly left: number;
  readonly right: number;
}

/** The middle line of a sleeve, in the plane of the garment photo. */
export interface SleeveAxis {
  /** Middle of the seam. */
  readonly origin: Point;
  /** Unit vectors along the sleeve and towards its upper edge. */
  readonly along: Point;
  readonly up: Point;
  readonly length: number;
  /** Where the cuff's upper and lower edge are, along `up`. */
  readonly upper: number;
  readonly lower: number;
  readonly seamHalf: number;
}

/** Landmarks of a garment, in pixels of its photo. */
export interface GarmentShape {
  readonly neck: Sides<Point>;
  /** Lowest point of the neckline; absent when nothing of the garment is below the middle of it. */
  readonly neckMiddle: Point | undefined;
  readonly shoulders: Sides<Point>;
  readonly armpits: Sides<Point>;
  readonly hem: Sides<Point>;
  readonly sleeves: Sides<SleeveAxis> | undefined;
  readonly hasHood: boolean;
  /** From armpit to armpit. */
  readonly width: number;
  /** From armpits to hem, in widths. */
  readonly lengthRatio: number;
  readonly runs: readonly (Run | undefined)[];
}
