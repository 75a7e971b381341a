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
/**
 * Levels of the segmentation, 0..255: above `likely` probably a person, above `sure` certainly, below `unlikely` not.
 */
const likely = 110;
const sure = 240;
const unlikely = 12;

export interface PersonMatte {
  readonly mask: Mask;
  /** Share of the skeleton's pixels that are probably a person in the segmentation, 0..1. */
  readonly boneAgreement: number;
}

/**
 * The mask of the people in a picture. Pixels of the skeleton and very high levels of the segmentation are foreground;
 * grabCut decides the uncertain pixels by colour. `keepPieces` chooses among separate pieces of the result.
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
  // Removes pixels where the segmentation excludes a person, except those of the skeleton.
  const trusted = maskWhere(cut, (i) => {
    return cut.data[i] === 1 && (byteAt(selfie.data, i) >= unlikely || byteAt(skeleton.data, i) === 1);
  });
  const pieces = keepPieces(trusted, skeleton);
  const smallHolePx = 0.002 * selfie.data.length;
  // A large hole is filled only where the segmentation shows a person: the gap between arm and hip stays open.
  const whole = fillHoles(cv, pieces, {
    accept: (areaPx, mean) => areaPx < smallHolePx || mean > 90,
    weight: selfie,
  });
  return { mask: resizeMask(cv, whole, sighting.picture), boneAgreement: agreement(selfie, skeleton) };
}

/** A sighting scaled to `workSidePx`, with defaults for its optional masks. */
interface SmallSighting {
  readonly picture: Rgb;
  readonly selfie: Grey;
  readonly skeleton: Mask;
  readonly reach: Mask;
  /** Pixels farther than this from the likely pixels are background. */
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

/** The start labels for grabCut. */
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

/** See `PersonMatte.boneAgreement`. */
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
