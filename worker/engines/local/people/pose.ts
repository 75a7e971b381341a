import type { CV } from "@techstark/opencv-js";
import type { Tensor } from "@tensorflow/tfjs-core";
import sharp from "sharp";
import { AppError } from "@atelier/server/platform";
import { morph } from "../raster/filters.ts";
import {
  areaOf,
  byteAt,
  type Grey,
  type Mask,
  maskWhere,
  type Point,
  type Rgb,
  type Size,
} from "../raster/grid.ts";
import { largestComponent } from "../raster/shapes.ts";
import { type Runtime, tensorCore } from "../runtime.ts";
import type { BodyFrame } from "./body.ts";

const sidePx = 256;

/** How likely each pixel is a person, 0..255, at the size of the picture (computed at 256 px, so soft). */
export async function detectSelfie(runtime: Runtime, { data, width, height }: Rgb): Promise<Grey> {
  const model = await runtime.graph("selfie");
  const input = await sharp(data, { raw: { width, height, channels: 3 } })
    .resize(sidePx, sidePx, { fit: "fill" })
    .raw()
    .toBuffer();
  const core = tensorCore();
  const floats = Float32Array.from(input, (value) => value / 255);
  const tensor = core.tensor(floats, [1, sidePx, sidePx, 3]);
  const result = model.execute(tensor) as Tensor;
  const small = Uint8ClampedArray.from(await result.data(), (value) => value * 255);
  core.dispose([tensor, result]);
  const grey = await sharp(small, { raw: { width: sidePx, height: sidePx, channels: 1 } })
    .resize(width, height, { fit: "fill", kernel: "cubic" })
    .toColourspace("b-w")
    .raw()
    .toBuffer();
  return { data: new Uint8Array(grey), width, height };
}

/** A point of the body in pixels, with the model's score 0..1. */
export interface KeyPoint extends Point {
  readonly score: number;
}

/** Key points in COCO order; left and right are the person's own. */
export interface Pose {
  readonly nose: KeyPoint;
  readonly leftEye: KeyPoint;
  readonly rightEye: KeyPoint;
  readonly leftShoulder: KeyPoint;
  readonly rightShoulder: KeyPoint;
  readonly leftElbow: KeyPoint;
  readonly rightElbow: KeyPoint;
  readonly leftWrist: KeyPoint;
  readonly rightWrist: KeyPoint;
  readonly leftHip: KeyPoint;
  readonly rightHip: KeyPoint;
  readonly leftKnee: KeyPoint;
  readonly rightKnee: KeyPoint;
  readonly leftAnkle: KeyPoint;
  readonly rightAnkle: KeyPoint;
}

/** Finds the most prominent person with MoveNet. There is always an answer: judge it by the scores. */
export async function detectPose(runtime: Runtime, { data, width, height }: Rgb): Promise<Pose> {
  const model = await runtime.graph("movenet-thunder");
  const input = await sharp(data, { raw: { width, height, channels: 3 } })
    .resize(sidePx, sidePx, { fit: "contain", background: "#000" })
    .raw()
    .toBuffer();
  const core = tensorCore();
  const tensor = core.tensor(Int32Array.from(input), [1, sidePx, sidePx, 3], "int32");
  const result = model.execute(tensor) as Tensor;
  const values = await result.data();
  core.dispose([tensor, result]);
  const scale = Math.min(sidePx / width, sidePx / height);
  const margin = { x: (sidePx - width * scale) / 2, y: (sidePx - height * scale) / 2 };
  const at = (index: number): KeyPoint => ({
    x: (Number(values[index * 3 + 1]) * sidePx - margin.x) / scale,
    y: (Number(values[index * 3]) * sidePx - margin.y) / scale,
    score: Number(values[index * 3 + 2]),
  });
  return poseOf(at);
}

function poseOf(at: (index: number) => KeyPoint): Pose {
  return {
    nose: at(0),
    leftEye: at(1),
    rightEye: at(2),
    leftShoulder: at(5),
    rightShoulder: at(6),
    leftElbow: at(7),
    rightElbow: at(8),
    leftWrist: at(9),
    rightWrist: at(10),
    leftHip: at(11),
    rightHip: at(12),
    leftKnee: at(13),
    rightKnee: at(14),
    leftAnkle: at(15),
    rightAnkle: at(16),
  };
}

export function refusePerson(message: string, { gate, score }: { gate: string; score: number }): AppError {
  return new AppError("person_unsuitable", message, {
    details: { gate, score: Math.round(score * 1_000) / 1_000 },
  });
}

const minShoulderScore = 0.5;

/** Gates on the pose for putting clothes on. Throws `person_unsuitable`. */
export function judgePose(frame: BodyFrame, { width, height }: Size): void {
  const shoulderScore = Math.min(frame.shoulders[0].score, frame.shoulders[1].score);
  if (shoulderScore < minShoulderScore) {
    throw refusePerson(
      "Both shoulders must be clearly visible. Use a photo of the person from the front, from the hips up.",
      { gate: "shoulders", score: shoulderScore },
    );
  }
  const isInside = (point: KeyPoint) =>
    point.x > 0.01 * width && point.x < 0.99 * width && point.y > 0 && point.y < height;
  if (!isInside(frame.shoulders[0]) || !isInside(frame.shoulders[1])) {
    throw refusePerson("A shoulder is outside the photo. Use a photo that shows the whole upper body.", {
      gate: "cropped",
      score: 0,
    });
  }
  if (frame.isBackView) {
    throw refusePerson("The person is seen from behind. Use a photo from the front.", {
      gate: "back",
      score: 0,
    });
  }
}

export interface PersonScores {
  readonly face: number;
  /** Of the shoulder that is seen worse. */
  readonly shoulders: number;
  /** Share of the picture that the segmentation is sure of. */
  readonly personShare: number;
}

const minFaceScore = 0.35;
const minPersonShoulderScore = 0.25;
const minPersonShare = 0.01;
const sureFrom = 200;

export function personScores(pose: Pose, selfie: Grey): PersonScores {
  let sure = 0;
  for (let i = 0; i < selfie.data.length; i++) if (byteAt(selfie.data, i) > sureFrom) sure++;
  const rounded = (value: number) => Math.round(value * 1_000) / 1_000;
  return {
    face: rounded(Math.min(pose.nose.score, Math.max(pose.leftEye.score, pose.rightEye.score))),
    shoulders: rounded(Math.min(pose.leftShoulder.score, pose.rightShoulder.score)),
    personShare: rounded(sure / selfie.data.length),
  };
}

/** Whether both networks find a person. */
export function isPersonSeen({ face, shoulders, personShare }: PersonScores): boolean {
  const isPosed = face >= minFaceScore || shoulders >= minPersonShoulderScore;
  return isPosed && personShare >= minPersonShare;
}

/** Throws `no_person_found` unless both networks find a person. */
export function requirePerson(scores: PersonScores): void {
  if (isPersonSeen(scores)) return;
  const { face, shoulders, personShare } = scores;
  throw new AppError("no_person_found", "No person was found. Use a photo that shows one clearly.", {
    details: { gate: "person", score: Math.max(face, shoulders), face, shoulders, personShare },
  });
}

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

/** The results of both networks for the people in a picture, all at the size of `picture`. */
export interface Sighting {
  readonly picture: Rgb;
  /** How likely each pixel is a person, 0..255. */
  readonly selfie: Grey;
  /** Pixels that are certainly a person. */
  readonly skeleton?: Mask;
  /** Pixels outside it are certainly not the person that is meant. */
  readonly reach?: Mask;
  readonly nearPx: number;
}
