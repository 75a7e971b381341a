import { medianTone, toneAt, toneDistance, type Tone } from "../raster/color.ts";
import { maskWhere, type Mask, type Rgb } from "../raster/grid.ts";
import type { BodyFrame } from "./body.ts";
import { refusePerson } from "./refuse-person.ts";

const tolerance = { luma: 75, chroma: 13 };
const leastFacePixels = 20;

/** Skin by its distance to the median colour of the middle of the face. Throws `person_unsuitable` without a face. */
export function skinMask(picture: Rgb, frame: BodyFrame): Mask {
  const { nose, eyeDistancePx: unit } = frame;
  const tones: Tone[] = [];
  const right = Math.min(picture.width, nose.x + unit * 0.5);
  const bottom = Math.min(picture.height, nose.y + unit * 0.35);
  for (let y = Math.max(0, Math.round(nose.y - unit * 0.25)); y < bottom; y++) {
    for (let x = Math.max(0, Math.round(nose.x - unit * 0.5)); x < right; x++) {
      tones.push(toneAt(picture, y * picture.width + x));
    }
  }
  const face = medianTone(tones, leastFacePixels);
  if (!face) {
    throw refusePerson("The face cannot be seen. Use a photo of the person from the front.", {
      gate: "face",
      score: tones.length,
    });
  }
  return maskWhere(picture, (i) => toneDistance(toneAt(picture, i), face, tolerance) < 1);
}
