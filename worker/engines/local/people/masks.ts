import type { CV } from "@techstark/opencv-js";
import { byteAt, doubleAt, intAt } from "../raster/cells.ts";
import { toneAt, toneDistance, type Tone } from "../raster/color.ts";
import { components } from "../raster/components.ts";
import { drawCapsule } from "../raster/draw-capsule.ts";
import { drawPolygon } from "../raster/draw-polygon.ts";
import { cutLabel, grabCut } from "../raster/grab-cut.ts";
import { areaOf, emptyMask, maskWhere, type Grey, type Mask, type Rgb, type Size } from "../raster/grid.ts";
import { largestComponent } from "../raster/largest-component.ts";
import { morph } from "../raster/filters.ts";
import { resizeGrid, resizeMask, resizeNearest } from "../raster/resize-grid.ts";
import { torsoPolygon, type BodyFrame } from "./body.ts";
import { drawHead, growHair, hairTone, toneOf } from "./head-masks.ts";
import { refusePerson } from "./refuse-person.ts";
import { skinMask } from "./skin-mask.ts";

const workSidePx = 512;
const clothTolerance = { luma: 38, chroma: 10 };

/** What a person wears and shows above the waist. */
export interface Clothes {
  readonly mask: Mask;
  readonly head: Mask;
  readonly hair: Mask;
  readonly skin: Mask;
  /** Share of the torso that the clothes cover. */
  readonly coverage: number;
}

interface Parts {
  readonly picture: Rgb;
  readonly person: Mask;
  readonly frame: BodyFrame;
  readonly skin: Mask;
  readonly head: Mask;
  readonly hair: Mask;
  /** Middle of the torso: clothes for sure, unless skin. */
  readonly core: Mask;
  /** Where clothes can be. */
  readonly allowed: Mask;
  readonly tones: { readonly hair: Tone | undefined; readonly cloth: Tone | undefined };
}

/** Finds the clothes on the upper body. Throws `person_unsuitable`. */
export function clothesMask(
  cv: CV,
  { picture, person }: { picture: Rgb; person: Mask },
  frame: BodyFrame,
): Clothes {
  const parts = readParts(cv, { picture, person }, frame);
  const cut = cutClothes(cv, parts);
  const mask = keepClothes(cv, cut, parts);
  const torso = emptyMask(picture);
  drawPolygon(torso, torsoPolygon(frame));
  const covered = maskWhere(mask, (i) => byteAt(torso.data, i) === 1 && byteAt(mask.data, i) === 1);
  const { head, hair, skin } = parts;
  return { mask, head, hair, skin, coverage: areaOf(covered) / Math.max(1, areaOf(torso)) };
}

function readParts(cv: CV, { picture, person }: { picture: Rgb; person: Mask }, frame: BodyFrame): Parts {
  const skin = skinMask(picture, frame);
  const head = drawHead(frame, picture);
  const core = emptyMask(picture);
  const bottom = frame.torsoLength * 0.92;
  drawPolygon(core, [
    frame.at(-0.26, 0.42),
    frame.at(0.26, 0.42),
    frame.at(0.26, bottom),
    frame.at(-0.26, bottom),
  ]);
  const scene = { picture, person, skin, head, frame };
  const cloth = toneOf(picture, (i) => {
    return byteAt(core.data, i) === 1 && !byteAt(skin.data, i) && byteAt(person.data, i) === 1;
  });
  const tones = { hair: hairTone(scene), cloth };
  const hair = tones.hair && cloth ? growHair(cv, scene, { hair: tones.hair, cloth }) : emptyMask(picture);
  return { ...scene, core, hair, tones, allowed: drawAllowed(frame, picture) };
}

function drawAllowed(frame: BodyFrame, size: Size): Mask {
  const mask = emptyMask(size);
  const unit = frame.shoulderWidthPx;
  const bottom = frame.torsoLength + 0.15;
  drawPolygon(mask, [
    frame.at(-0.68, -0.22),
    frame.at(0.68, -0.22),
    frame.at(0.66, bottom),
    frame.at(-0.66, bottom),
  ]);
  for (const side of [0, 1] as const) {
    const [shoulder, elbow, wrist] = [frame.shoulders[side], frame.elbows[side], frame.wrists[side]];
    const isElbowSeen = elbow.score > 0.2;
    const armEnd = isElbowSeen ? elbow : frame.at(side ? 0.6 : -0.6, 0.7);
    drawCapsule(mask, { from: shoulder, to: armEnd, radius: 0.22 * unit });
    if (isElbowSeen && wrist.score > 0.2) drawCapsule(mask, { from: elbow, to: wrist, radius: 0.17 * unit });
  }
  return mask;
}

/** Colours very close to the core are clothes for sure: the cut would otherwise lose whole areas of them. */
function isSameCloth({ picture, tones }: Parts, i: number): boolean {
  if (!tones.cloth) return false;
  const tone = toneAt(picture, i);
  const distance = toneDistance(tone, tones.cloth, clothTolerance);
  if (distance >= 0.9) return false;
  return !tones.hair || distance < 0.6 * toneDistance(tone, tones.hair, clothTolerance);
}

function labelAt(parts: Parts, i: number): number {
  const { person, head, hair, core, skin, allowed } = parts;
  if (!byteAt(person.data, i) || byteAt(head.data, i) || byteAt(hair.data, i)) return cutLabel.background;
  const isCore = byteAt(core.data, i) === 1;
  const isSkin = byteAt(skin.data, i) === 1;
  if (isCore && !isSkin) return cutLabel.foreground;
  if (isSkin && !isCore) return cutLabel.background;
  if (!byteAt(allowed.data, i)) return cutLabel.maybeBackground;
  return isSameCloth(parts, i) ? cutLabel.foreground : cutLabel.maybeForeground;
}

function cutClothes(cv: CV, parts: Parts): Mask {
  const { picture, person, head, hair } = parts;
  const scale = workSidePx / Math.max(picture.width, picture.height);
  const size = { width: Math.round(picture.width * scale), height: Math.round(picture.height * scale) };
  const labels: Grey = {
    ...person,
    data: person.data.map((_value, i) => labelAt(parts, i)),
  };
  const small = resizeNearest(cv, labels, size);
  const sure = small.data.reduce((count, label) => count + (label === cutLabel.foreground ? 1 : 0), 0);
  if (sure < 60) {
    throw refusePerson(
      "No clothes were found on the upper body. Use a photo of a dressed person from the front.",
      {
        gate: "clothes",
        score: sure,
      },
    );
  }
  const cut = grabCut(cv, resizeGrid(cv, picture, size), { labels: small, iterations: 2 });
  const allowed = maskWhere(size, (i) => byteAt(cut.data, i) === 1 && small.data[i] !== cutLabel.background);
  const calm = morph(cv, morph(cv, allowed, ["open", 1]), ["close", 4]);
  const large = resizeMask(cv, calm, picture);
  return maskWhere(picture, (i) => {
    const isBody = byteAt(person.data, i) && !byteAt(head.data, i) && !byteAt(hair.data, i);
    return byteAt(large.data, i) === 1 && Boolean(isBody);
  });
}

/** Hair can cut clothes into pieces: the main one stays, and others of some size on the torso or the arms. */
function keepClothes(cv: CV, mask: Mask, { core, allowed }: Parts): Mask {
  const main = largestComponent(cv, mask, core).mask;
  const mainArea = areaOf(main);
  const { labels, count, areas } = components(cv, mask);
  const hits = new Float64Array(count);
  for (let i = 0; i < labels.length; i++) {
    const label = intAt(labels, i);
    if (byteAt(allowed.data, i)) hits[label] = doubleAt(hits, label) + 1;
  }
  const isKept = Array.from(areas, (area, label) => {
    return label > 0 && area > 0.012 * mainArea && doubleAt(hits, label) > 0.7 * area;
  });
  return maskWhere(mask, (i) => byteAt(main.data, i) === 1 || isKept[intAt(labels, i)] === true);
}
