import type { CV } from "@techstark/opencv-js";
import { cutLabel, grabCut, morph } from "../raster/filters.ts";
import {
  areaOf,
  byteAt,
  doubleAt,
  emptyMask,
  type Grey,
  intAt,
  type Mask,
  maskWhere,
  medianTone,
  resizeGrid,
  resizeMask,
  resizeNearest,
  type Rgb,
  type Size,
  type Tone,
  toneAt,
  toneDistance,
} from "../raster/grid.ts";
import { components, drawCapsule, drawPolygon, largestComponent } from "../raster/shapes.ts";
import { type BodyFrame, torsoPolygon } from "./body.ts";
import { refusePerson } from "./pose.ts";

const hairTolerance = { luma: 38, chroma: 12 };
const minTones = 30;

/** A capsule over the head. */
function drawHead(frame: BodyFrame, size: Size): Mask {
  const mask = emptyMask(size);
  const { nose, down, eyeDistancePx: unit } = frame;
  drawCapsule(mask, {
    from: { x: nose.x - down.x * unit * 0.4, y: nose.y - down.y * unit * 0.4 },
    to: { x: nose.x + down.x * unit * 0.3, y: nose.y + down.y * unit * 0.3 },
    radius: Math.max(unit * 2.1, 0.28 * frame.shoulderWidthPx) * 0.8,
  });
  return mask;
}

/** Median colour of every third pixel that is wanted; `undefined` when there are too few. */
function toneOf(picture: Rgb, isWanted: (index: number) => boolean): Tone | undefined {
  const tones: Tone[] = [];
  for (let i = 0; i < picture.width * picture.height; i += 3) if (isWanted(i)) tones.push(toneAt(picture, i));
  return medianTone(tones, minTones);
}

interface HairScene {
  readonly picture: Rgb;
  readonly person: Mask;
  readonly skin: Mask;
  readonly head: Mask;
  readonly frame: BodyFrame;
}

function hairTone({ picture, person, skin, head, frame }: HairScene): Tone | undefined {
  const browY = (frame.eyes[0].y + frame.eyes[1].y) / 2 - frame.eyeDistancePx * 0.9;
  return toneOf(picture, (i) => {
    const isAboveBrow = Math.floor(i / picture.width) < browY;
    return isAboveBrow && byteAt(head.data, i) === 1 && !byteAt(skin.data, i) && byteAt(person.data, i) === 1;
  });
}

/** Hair: grown from the head as long as it looks more like hair than like the clothes. */
function growHair(cv: CV, scene: HairScene, tones: { hair: Tone; cloth: Tone }): Mask {
  const { picture, person, skin, head } = scene;
  const { width, height } = picture;
  const hair = new Uint8Array(width * height);
  const stack: number[] = [];
  const toHair = (i: number) => toneDistance(toneAt(picture, i), tones.hair, hairTolerance);
  const add = (i: number) => {
    hair[i] = 1;
    stack.push(i);
  };
  for (let i = 0; i < hair.length; i++) {
    const isHead = byteAt(head.data, i) && byteAt(person.data, i) && !byteAt(skin.data, i);
    if (isHead && toHair(i) < 1.3) add(i);
  }
  const visit = (i: number) => {
    if (i < 0 || i >= hair.length || byteAt(hair, i) || !byteAt(person.data, i)) return;
    const distance = toHair(i);
    if (distance >= 1.3) return;
    if (distance < toneDistance(toneAt(picture, i), tones.cloth, hairTolerance) * 0.7) add(i);
  };
  for (let i = stack.pop(); i !== undefined; i = stack.pop()) {
    for (const next of [i - 1, i + 1, i - width, i + width]) visit(next);
  }
  return morph(cv, { data: hair, width, height }, ["close", 2]);
}

const tolerance = { luma: 75, chroma: 13 };
const minFacePixels = 20;

/** Skin by its distance to the median colour of the middle of the face. Throws `person_unsuitable` without a face. */
function skinMask(picture: Rgb, frame: BodyFrame): Mask {
  const { nose, eyeDistancePx: unit } = frame;
  const tones: Tone[] = [];
  const right = Math.min(picture.width, nose.x + unit * 0.5);
  const bottom = Math.min(picture.height, nose.y + unit * 0.35);
  for (let y = Math.max(0, Math.round(nose.y - unit * 0.25)); y < bottom; y++) {
    for (let x = Math.max(0, Math.round(nose.x - unit * 0.5)); x < right; x++) {
      tones.push(toneAt(picture, y * picture.width + x));
    }
  }
  const face = medianTone(tones, minFacePixels);
  if (!face) {
    throw refusePerson("The face cannot be seen. Use a photo of the person from the front.", {
      gate: "face",
      score: tones.length,
    });
  }
  return maskWhere(picture, (i) => toneDistance(toneAt(picture, i), face, tolerance) < 1);
}

const workSidePx = 512;
const clothTolerance = { luma: 38, chroma: 10 };

/** Clothes and skin of a person above the waist. */
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
