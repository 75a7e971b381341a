import type { Grey, Mask, Rgb } from "../raster/grid.ts";

/** What the two networks say about the people in a picture, all at the size of `picture`. */
export interface Sighting {
  readonly picture: Rgb;
  /** How likely each pixel is a person, 0..255. */
  readonly selfie: Grey;
  /** Pixels that are certainly a person. */
  readonly skeleton?: Mask;
  /** Pixels outside it are certainly not the person that is meant. */
  readonly reach?: Mask;
  readonly nearPx: number;
}
