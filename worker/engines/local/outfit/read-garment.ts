import type { CV } from "@techstark/opencv-js";
import { garmentLandmarks } from "../garment/shape.ts";
import { garmentMask } from "../garment/mask.ts";
import { refuseGarment } from "../garment/refuse-garment.ts";
import type { GarmentShape } from "../garment/garment-shape.ts";
import { readPicture } from "../picture/read-picture.ts";
import { workCopy } from "../picture/work-copy.ts";
import { byteAt } from "../raster/cells.ts";
import { drawCapsule } from "../raster/draw-capsule.ts";
import { emptyMask, maskWhere, type Mask } from "../raster/grid.ts";

const workSidePx = 768;
/** A garment longer than so many of its widths below the armpits is a dress. */
const dressLengthRatio = 1.55;

export type Category = "auto" | "top" | "bottom" | "dress";

/** Reads and measures the garment. Throws `garment_unsuitable`. */
export async function readGarment(cv: CV, file: string, category: Category) {
  if (category === "bottom") {
    throw refuseGarment(
      "The preview can put on tops and dresses, not trousers or skirts. Choose a top or a dress.",
      {
        gate: "category",
        score: 0,
      },
    );
  }
  const picture = await workCopy(await readPicture(file), workSidePx);
  const { mask, cloth, scores } = garmentMask(cv, picture);
  const shape = garmentLandmarks(mask);
  const isLong = category === "auto" ? shape.lengthRatio > dressLengthRatio : category === "dress";
  return {
    garment: { picture, mask, cloth: withoutArmpits(cloth, shape), shape },
    scores: { ...scores, lengthRatio: shape.lengthRatio },
    isLong,
  };
}

/** The gap below a sleeve ends in a wedge too narrow to be seen as ground: its colours are left out. */
function withoutArmpits(cloth: Mask, { armpits, sleeves, width }: GarmentShape): Mask {
  if (!sleeves) return cloth;
  const wedges = emptyMask(cloth);
  for (const armpit of armpits) {
    drawCapsule(wedges, {
      from: armpit,
      to: { x: armpit.x, y: armpit.y - 0.1 * width },
      radius: 0.025 * width,
    });
  }
  return maskWhere(cloth, (i) => byteAt(cloth.data, i) === 1 && !byteAt(wedges.data, i));
}
