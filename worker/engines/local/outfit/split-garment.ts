import type { GarmentShape } from "../garment/garment-shape.ts";
import type { Sides } from "../people/body.ts";
import { byteAt } from "../raster/cells.ts";
import { maskWhere, type Mask } from "../raster/grid.ts";

export interface GarmentParts {
  readonly torso: Mask;
  readonly sleeves: Sides<Mask> | undefined;
}

/** Both parts keep a margin across the seam, so that their colours agree there. */
const marginShare = 0.2;

export function splitGarment(mask: Mask, shape: GarmentShape): GarmentParts {
  // A hood is not worn in the preview.
  const firstRow = shape.hasHood ? shape.neck[0].y : 0;
  const body = maskWhere(mask, (i) => byteAt(mask.data, i) === 1 && i >= firstRow * mask.width);
  if (!shape.sleeves) return { torso: body, sleeves: undefined };
  const margin = marginShare * shape.width;
  const places = [createPlace(shape, 0), createPlace(shape, 1)] as const;
  const isSleeve = (side: 0 | 1, i: number, depth: number) => {
    const place = places[side](i % mask.width, Math.floor(i / mask.width));
    return place.isHanging || (!place.isBelow && place.outward > depth);
  };
  const torso = maskWhere(body, (i) => {
    return byteAt(body.data, i) === 1 && !isSleeve(0, i, margin) && !isSleeve(1, i, margin);
  });
  const sleeve = (side: 0 | 1) =>
    maskWhere(body, (i) => {
      if (!byteAt(body.data, i)) return false;
      const place = places[side](i % mask.width, Math.floor(i / mask.width));
      return place.isHanging || (!place.isBelow && place.outward > -margin && place.isPastNeck);
    });
  return { torso, sleeves: [sleeve(0), sleeve(1)] };
}

/** Where a pixel lies as seen from the seam of one sleeve. */
function createPlace(shape: GarmentShape, side: 0 | 1) {
  const [shoulder, armpit, neck] = [shape.shoulders[side], shape.armpits[side], shape.neck[side]];
  const seam = { x: armpit.x - shoulder.x, y: armpit.y - shoulder.y };
  const length = Math.hypot(seam.x, seam.y);
  const sign = side === 1 ? 1 : -1;
  return (x: number, y: number) => {
    const run = shape.runs[y];
    const isInRun = run !== undefined && x >= run.left && x <= run.right;
    const isBelow = y >= armpit.y;
    return {
      outward: (((x - shoulder.x) * seam.y - (y - shoulder.y) * seam.x) / length) * sign,
      isBelow,
      isHanging: isBelow && (x - armpit.x) * sign > 0 && !isInRun,
      isPastNeck: (x - neck.x) * sign > 0,
    };
  };
}
