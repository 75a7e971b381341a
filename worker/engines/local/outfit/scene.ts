import type { CV } from "@techstark/opencv-js";
import type { GarmentShape } from "../garment/garment-shape.ts";
import type { BodyFrame } from "../people/body.ts";
import type { Clothes } from "../people/masks.ts";
import type { Mask, Rgb } from "../raster/grid.ts";

interface Garment {
  readonly picture: Rgb;
  readonly mask: Mask;
  readonly cloth: Mask;
  readonly shape: GarmentShape;
}

/** All that is known before the garment is put on; masks are at the size of `picture`. */
export interface Scene {
  readonly cv: CV;
  readonly picture: Rgb;
  readonly frame: BodyFrame;
  readonly person: Mask;
  readonly clothes: Clothes;
  readonly garment: Garment;
  /** Reaches below the hips, as a dress does. */
  readonly isLong: boolean;
}
