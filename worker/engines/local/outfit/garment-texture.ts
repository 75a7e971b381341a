import { boxBlur } from "../raster/box-blur.ts";
import { byteAt, floatAt, intAt } from "../raster/cells.ts";
import { maskWhere, planeOf, type Mask, type Plane, type Rgb } from "../raster/grid.ts";
import { maskedBlur } from "../raster/masked-blur.ts";
import { nearestIndex } from "../raster/nearest-index.ts";
import { rgbPlanes, type Planes } from "../raster/rgb-planes.ts";

/** The colours of a part of the garment, continued beyond its outline, and where the part is. */
export interface Texture {
  readonly colors: Planes;
  /** 0..1, soft at the outline. */
  readonly cover: Plane;
}

/** `cloth` marks the pixels of the photo that show nothing but cloth. */
export function garmentTexture(garment: { picture: Rgb; cloth: Mask }, part: Mask): Texture {
  const inner = maskWhere(part, (i) => byteAt(part.data, i) === 1 && byteAt(garment.cloth.data, i) === 1);
  const nearest = nearestIndex(inner);
  const weights = planeOf(inner);
  const extend = (plane: Plane): Plane => {
    // Outside a smoothed colour of the nearest inner pixel: noise would become streaks.
    const smooth = maskedBlur(plane, weights, 3).data;
    const data = plane.data.map((value, i) => {
      const source = intAt(nearest, i);
      return source < 0 || source === i ? value : floatAt(smooth, source);
    });
    return { ...plane, data };
  };
  const [red, green, blue] = rgbPlanes(garment.picture);
  return { colors: [extend(red), extend(green), extend(blue)], cover: boxBlur(planeOf(part), 1, 2) };
}
