import type { CV } from "@techstark/opencv-js";
import { byteAt, floatAt } from "../raster/cells.ts";
import { fillHoles } from "../raster/fill-holes.ts";
import { areaOf, maskWhere, type Mask, type Rgb } from "../raster/grid.ts";
import { largestComponent } from "../raster/largest-component.ts";
import { median } from "../raster/median.ts";
import { morph } from "../raster/filters.ts";
import { maskByCut } from "./cut-garment.ts";
import { maskByFlood } from "./flood-ground.ts";
import { groundDifference, shareOfBorder, type Ground } from "./ground-difference.ts";
import { measureSymmetry } from "./measure-symmetry.ts";
import { refuseGarment } from "./refuse-garment.ts";

interface GarmentScores {
  readonly method: "flood" | "cut";
  /** Share of the picture. */
  readonly share: number;
  /** Share of the largest piece. */
  readonly onePiece: number;
  readonly borderTouch: number;
  readonly symmetry: number;
  /** Levels between the cloth and its ground. */
  readonly contrast: number;
}

export interface CutGarment {
  readonly mask: Mask;
  /** Pixels of `mask` that show no ground: the rim and narrow gaps do, as at the armpits. */
  readonly cloth: Mask;
  readonly scores: GarmentScores;
}

/** So far from the ground its colour still mixes in. */
const rimPx = 4;
const plainGroundDeviation = 16;

/** Cuts a garment out of its product photo. Throws `garment_unsuitable`. */
export function garmentMask(cv: CV, picture: Rgb): CutGarment {
  const ground = groundDifference(picture);
  const method = ground.deviation < plainGroundDeviation ? "flood" : "cut";
  const { cloth: raw, isGround } =
    method === "flood" ? maskByFlood(cv, ground, picture) : maskByCut(cv, picture);
  const calm = morph(cv, morph(cv, raw, ["open", 2]), ["close", 3]);
  const largest = largestComponent(cv, calm);
  const pixels = picture.width * picture.height;
  const mask = fillHoles(cv, largest.mask, { accept: (areaPx) => areaPx < 0.02 * pixels });
  // Landmarks look for runs of pixels with an end.
  mask.data.fill(0, 0, picture.width).fill(0, pixels - picture.width);
  const scores: GarmentScores = {
    method,
    share: areaOf(mask) / pixels,
    onePiece: largest.share,
    borderTouch: shareOfBorder(ground, (i) => byteAt(mask.data, i) === 1),
    symmetry: measureSymmetry(mask),
    contrast: contrastOf(cv, mask, ground),
  };
  judge(scores);
  const nearGround = morph(cv, isGround, ["dilate", rimPx]);
  const inner = morph(cv, mask, ["erode", rimPx]);
  const cloth = maskWhere(mask, (i) => byteAt(inner.data, i) === 1 && !byteAt(nearGround.data, i));
  return { mask, cloth, scores };
}

function contrastOf(cv: CV, mask: Mask, ground: Ground): number {
  const inner = morph(cv, mask, ["erode", 0.03 * mask.width]);
  const differences: number[] = [];
  for (let i = 0; i < inner.data.length; i += 5) {
    if (byteAt(inner.data, i)) differences.push(floatAt(ground.difference, i));
  }
  return median(differences);
}

// The start rectangle of the cut is symmetric itself, so more is asked of its result.
const leastSymmetry = { flood: 0.8, cut: 0.95 } as const;

function judge({ method, share, onePiece, borderTouch, symmetry, contrast }: GarmentScores): void {
  if (share < 0.06 || share > 0.9) {
    throw refuseGarment("No garment was found. Use a photo of one garment on a plain ground.", {
      gate: "garment_size",
      score: share,
    });
  }
  if (onePiece < 0.75) {
    throw refuseGarment("There are several things in the garment photo. Use a photo of one garment alone.", {
      gate: "garment_pieces",
      score: onePiece,
    });
  }
  if (borderTouch > 0.2) {
    throw refuseGarment(
      "The garment is cut off by the edge of its photo. Use a photo that shows all of it.",
      {
        gate: "garment_cut",
        score: borderTouch,
      },
    );
  }
  if (contrast < 20) {
    throw refuseGarment(
      "The garment has nearly the colour of its ground. Photograph it on a ground of another colour.",
      { gate: "garment_contrast", score: contrast },
    );
  }
  if (symmetry < leastSymmetry[method]) {
    throw refuseGarment(
      "This does not look like a garment laid out flat and seen from the front. Use such a photo.",
      { gate: "garment_symmetry", score: symmetry },
    );
  }
}
