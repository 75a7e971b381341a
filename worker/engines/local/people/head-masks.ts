import type { CV } from "@techstark/opencv-js";
import { byteAt } from "../raster/cells.ts";
import { medianTone, toneAt, toneDistance, type Tone } from "../raster/color.ts";
import { drawCapsule } from "../raster/draw-capsule.ts";
import { emptyMask, type Mask, type Rgb, type Size } from "../raster/grid.ts";
import { morph } from "../raster/filters.ts";
import type { BodyFrame } from "./body.ts";

const hairTolerance = { luma: 38, chroma: 12 };
const leastTones = 30;

/** A capsule over the head. */
export function drawHead(frame: BodyFrame, size: Size): Mask {
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
export function toneOf(picture: Rgb, isWanted: (index: number) => boolean): Tone | undefined {
  const tones: Tone[] = [];
  for (let i = 0; i < picture.width * picture.height; i += 3) if (isWanted(i)) tones.push(toneAt(picture, i));
  return medianTone(tones, leastTones);
}

export interface HairScene {
  readonly picture: Rgb;
  readonly person: Mask;
  readonly skin: Mask;
  readonly head: Mask;
  readonly frame: BodyFrame;
}

export function hairTone({ picture, person, skin, head, frame }: HairScene): Tone | undefined {
  const browY = (frame.eyes[0].y + frame.eyes[1].y) / 2 - frame.eyeDistancePx * 0.9;
  return toneOf(picture, (i) => {
    const isAboveBrow = Math.floor(i / picture.width) < browY;
    return isAboveBrow && byteAt(head.data, i) === 1 && !byteAt(skin.data, i) && byteAt(person.data, i) === 1;
  });
}

/** Hair: grown from the head as long as it looks more like hair than like the clothes. */
export function growHair(cv: CV, scene: HairScene, tones: { hair: Tone; cloth: Tone }): Mask {
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
