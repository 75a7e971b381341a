import type { CV } from "@techstark/opencv-js";
import type { RunContext } from "../run-context.ts";
import type { GarmentShape } from "../garment/shape.ts";
import { type Sides, torsoPolygon } from "../people/body.ts";
import { refusePerson } from "../people/pose.ts";
import { boxBlur, morph } from "../raster/filters.ts";
import {
  byteAt,
  clamp,
  doubleAt,
  emptyMask,
  floatAt,
  intAt,
  type Mask,
  maskWhere,
  planeOf,
  type Rgb,
  sampleLinear,
} from "../raster/grid.ts";
import { components, drawPolygon, fillHoles } from "../raster/shapes.ts";
import { fitArm } from "./fit-arms.ts";
import { fitTorso } from "./fit-torso.ts";
import { type Fit, garmentTexture, type Overlay, paintGarment, shadeOverlay } from "./paint.ts";
import { chooseRegion, type Region } from "./region.ts";
import type { Scene } from "./change.ts";

/** Blends the overlay into `picture` in place, at the picture's size. Returns the mask of pixels that may change. */
export function mergeOverlay(picture: Rgb, { colors, alpha }: Overlay): Mask {
  const mask = emptyMask(picture);
  const ratio = { x: alpha.width / picture.width, y: alpha.height / picture.height };
  const minAlpha = 2 / 255;
  for (let i = 0; i < mask.data.length; i++) {
    const x = ((i % picture.width) + 0.5) * ratio.x - 0.5;
    const y = (Math.floor(i / picture.width) + 0.5) * ratio.y - 0.5;
    const share = sampleLinear(alpha, x, y);
    if (share < minAlpha) continue;
    mask.data[i] = 1;
    for (const c of [0, 1, 2] as const) {
      const value = byteAt(picture.data, i * 3 + c) * (1 - share) + sampleLinear(colors[c], x, y);
      picture.data[i * 3 + c] = Math.round(clamp(value, 0, 255));
    }
  }
  return mask;
}

/** Share of the overlay's torso pixels that are painted, of those that `isVisible` counts. */
function paintedShare(region: Mask, torso: Mask, isHidden: (index: number) => boolean): number {
  let visible = 0;
  let painted = 0;
  for (let i = 0; i < torso.data.length; i++) {
    if (!byteAt(torso.data, i) || isHidden(i)) continue;
    visible++;
    painted += byteAt(region.data, i);
  }
  return visible > 0 ? painted / visible : 0;
}

/** Closes gaps, covers thin rims of old clothes, smooths the outline and drops small pieces. */
function smoothRegion({ cv, frame, clothes }: Scene, { painted, blocked, body }: Region): Mask {
  const unit = frame.shoulderWidthPx;
  const closed = morph(cv, morph(cv, painted, ["close", 0.03 * unit]), ["open", 2]);
  const whole = fillHoles(cv, closed, { accept: (areaPx) => areaPx < (0.14 * unit) ** 2 });
  const rest = maskWhere(whole, (i) => {
    return byteAt(clothes.mask.data, i) === 1 && !byteAt(whole.data, i) && !byteAt(blocked.data, i);
  });
  const withRims = swallowRims(cv, { whole, rest }, unit);
  const blurred = boxBlur(planeOf(withRims), Math.max(2, Math.round(0.02 * unit)), 2).data;
  const calm = maskWhere(withRims, (i) => {
    return floatAt(blurred, i) > 0.5 && (byteAt(withRims.data, i) === 1 || byteAt(body.data, i) === 1);
  });
  const grown = morph(cv, calm, ["dilate", 1]);
  const free = maskWhere(grown, (i) => byteAt(grown.data, i) === 1 && !byteAt(blocked.data, i));
  return dropCrumbs(cv, free);
}

/** Old clothes beside the garment that are too thin to be a part of their own: shoulder tops, edges of arms. */
function swallowRims(cv: CV, { whole, rest }: { whole: Mask; rest: Mask }, unit: number): Mask {
  const thick = morph(cv, rest, ["open", Math.max(2, 0.05 * unit)]);
  const near = morph(cv, whole, ["dilate", 0.1 * unit]);
  return maskWhere(whole, (i) => {
    const isRim = byteAt(rest.data, i) === 1 && !byteAt(thick.data, i) && byteAt(near.data, i) === 1;
    return isRim || byteAt(whole.data, i) === 1;
  });
}

function dropCrumbs(cv: CV, mask: Mask): Mask {
  const { labels, areas } = components(cv, mask);
  const largest = areas.slice(1).reduce((most, area) => Math.max(most, area), 0);
  return maskWhere(
    mask,
    (i) => byteAt(mask.data, i) === 1 && doubleAt(areas, intAt(labels, i)) >= 0.03 * largest,
  );
}

interface GarmentParts {
  readonly torso: Mask;
  readonly sleeves: Sides<Mask> | undefined;
}

/** Both parts keep a margin across the seam, so that their colours agree there. */
const marginShare = 0.2;

function splitGarment(mask: Mask, shape: GarmentShape): GarmentParts {
  // The preview leaves out a hood.
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

const minPaintedShare = 0.55;

/** Puts the garment on the person. Throws `person_unsuitable` when too little of the torso can be covered. */
export function composeOutfit(scene: Scene, context: RunContext): { overlay: Overlay; torsoPainted: number } {
  context.progress(0.6, "warp");
  const fit = fitGarment(scene);
  const paint = paintGarment(scene, fit);
  context.progress(0.75, "compose");
  const rough = chooseRegion(scene, fit, paint);
  const region = smoothRegion(scene, rough);
  const torsoPainted = torsoShare(scene, region);
  if (torsoPainted < minPaintedShare) {
    throw refusePerson(
      "Too little of the upper body could be covered. Use a photo with nothing in front of it.",
      {
        gate: "result",
        score: torsoPainted,
      },
    );
  }
  return { overlay: shadeOverlay(scene, paint, { region, blocked: rough.blocked }), torsoPainted };
}

function fitGarment(scene: Scene): Fit {
  const { garment } = scene;
  const parts = splitGarment(garment.mask, garment.shape);
  const textureOf = (part: Mask) => garmentTexture(garment, part);
  const torso = fitTorso(scene);
  const sleeves = parts.sleeves && ([textureOf(parts.sleeves[0]), textureOf(parts.sleeves[1])] as const);
  return {
    torso,
    arms: [fitArm(scene, torso, 0), fitArm(scene, torso, 1)],
    textures: { torso: textureOf(parts.torso), sleeves },
  };
}

function torsoShare({ frame, clothes }: Scene, region: Mask): number {
  const torso = emptyMask(region);
  drawPolygon(torso, torsoPolygon(frame));
  return paintedShare(region, torso, (i) => {
    return byteAt(clothes.hair.data, i) === 1 || byteAt(clothes.head.data, i) === 1;
  });
}
