import type { CV } from "@techstark/opencv-js";
import { byteAt } from "../raster/cells.ts";
import { areaOf, maskWhere, type Grey, type Mask, type Rgb } from "../raster/grid.ts";
import { largestComponent } from "../raster/largest-component.ts";
import { morph } from "../raster/filters.ts";
import type { Runtime } from "../runtime/create-runtime.ts";
import type { BodyFrame } from "./body.ts";
import { detectPose } from "./pose.ts";
import { refusePerson } from "./refuse-person.ts";

const likely = 128;
/** A piece of that size beside the person, in areas of the person, is looked at more closely; a larger one is enough. */
const suspiciousShare = 0.1;
const certainShare = 0.5;
const secondFaceScore = 0.4;
const secondShoulderScore = 0.3;

interface Seen {
  readonly picture: Rgb;
  readonly selfie: Grey;
  readonly person: Mask;
  readonly frame: BodyFrame;
}

/**
 * Looks for another person beside the one that was found: by what the segmentation sees elsewhere, and by a second pose in
 * the picture with the first person painted over. Throws `person_unsuitable`.
 */
export async function requireOnePerson(vision: { cv: CV; runtime: Runtime }, seen: Seen): Promise<void> {
  const { picture, selfie, person, frame } = seen;
  const around = morph(vision.cv, person, ["dilate", 0.12 * frame.shoulderWidthPx]);
  const others = maskWhere(selfie, (i) => byteAt(selfie.data, i) > likely && !byteAt(around.data, i));
  const share = areaOf(largestComponent(vision.cv, others).mask) / Math.max(1, areaOf(person));
  if (share < suspiciousShare) return;
  if (share < certainShare && !(await hasSecondPose(vision.runtime, picture, around))) return;
  throw refusePerson("There are several people in the photo. Use a photo that shows one person alone.", {
    gate: "several_people",
    score: share,
  });
}

async function hasSecondPose(runtime: Runtime, picture: Rgb, hidden: Mask): Promise<boolean> {
  const data = picture.data.map((value, i) => (byteAt(hidden.data, Math.floor(i / 3)) ? 127 : value));
  const pose = await detectPose(runtime, { ...picture, data });
  const shoulders = Math.min(pose.leftShoulder.score, pose.rightShoulder.score);
  return pose.nose.score >= secondFaceScore || shoulders >= secondShoulderScore;
}
