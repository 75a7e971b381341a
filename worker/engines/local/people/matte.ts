import type { CV } from "@techstark/opencv-js";
import { cutLabel, grabCut, morph } from "../raster/filters.ts";
import {
  byteAt,
  emptyMask,
  type Grey,
  type Mask,
  maskWhere,
  resizeGrid,
  resizeMask,
  resizeNearest,
  type Rgb,
} from "../raster/grid.ts";
import { fillHoles } from "../raster/shapes.ts";
import type { Sighting } from "./pose.ts";

const workSidePx = 448;
const likely = 110;
const sure = 240;
const unlikely = 12;

export interface PersonMatte {
  readonly mask: Mask;
  /** Share of the bones that the segmentation calls a person, 0..1. */
  readonly boneAgreement: number;
}

/**
 * The outline of the people that were sighted: the soft segmentation says where, the bones are sure, and grabCut decides
 * the band in between by colour. `keepPieces` chooses among separate pieces.
 */
export function personMatte(
  cv: CV,
  sighting: Sighting,
  keepPieces: (mask: Mask, skeleton: Mask) => Mask,
): PersonMatte {
  const small = shrink(cv, sighting);
  const { selfie, skeleton } = small;
  const labels = labelsOf(cv, small);
  const cut = grabCut(cv, small.picture, { labels, iterations: 3 });
  // Where the segmentation is sure that there is no person, it is right.
  const trusted = maskWhere(cut, (i) => {
    return cut.data[i] === 1 && (byteAt(selfie.data, i) >= unlikely || byteAt(skeleton.data, i) === 1);
  });
  const pieces = keepPieces(trusted, skeleton);
  const smallHolePx = 0.002 * selfie.data.length;
  // A large hole is filled only when the segmentation sees a person in it: the gap of an arm on the hip stays open.
  const whole = fillHoles(cv, pieces, {
    accept: (areaPx, mean) => areaPx < smallHolePx || mean > 90,
    weight: selfie,
  });
  return { mask: resizeMask(cv, whole, sighting.picture), boneAgreement: agreement(selfie, skeleton) };
}

interface SmallSighting {
  readonly picture: Rgb;
  readonly selfie: Grey;
  readonly skeleton: Mask;
  readonly reach: Mask;
  /** How far from the segmentation a person may still be. */
  readonly nearPx: number;
}

function shrink(cv: CV, { picture, selfie, skeleton, reach, nearPx }: Sighting): SmallSighting {
  const scale = workSidePx / Math.max(picture.width, picture.height);
  const size = { width: Math.round(picture.width * scale), height: Math.round(picture.height * scale) };
  return {
    picture: resizeGrid(cv, picture, size),
    selfie: resizeGrid(cv, selfie, size),
    skeleton: skeleton ? resizeNearest(cv, skeleton, size) : emptyMask(size),
    reach: reach ? resizeNearest(cv, reach, size) : maskWhere(size, () => true),
    nearPx: nearPx * scale,
  };
}

function labelsOf(cv: CV, { selfie, skeleton, reach, nearPx }: SmallSighting): Grey {
  const isLikely = maskWhere(selfie, (i) => byteAt(selfie.data, i) > likely);
  const near = morph(cv, isLikely, ["dilate", nearPx]);
  const labelAt = (i: number) => {
    const isBone = byteAt(skeleton.data, i) === 1;
    if (!byteAt(reach.data, i) || (!byteAt(near.data, i) && !isBone)) return cutLabel.background;
    if (isBone || byteAt(selfie.data, i) > sure) return cutLabel.foreground;
    return byteAt(isLikely.data, i) ? cutLabel.maybeForeground : cutLabel.maybeBackground;
  };
  return { ...selfie, data: selfie.data.map((_value, i) => labelAt(i)) };
}

function agreement(selfie: Grey, skeleton: Mask): number {
  let bones = 0;
  let agreed = 0;
  for (let i = 0; i < skeleton.data.length; i++) {
    if (!byteAt(skeleton.data, i)) continue;
    bones++;
    if (byteAt(selfie.data, i) > likely) agreed++;
  }
  return bones > 0 ? agreed / bones : 0;
}
