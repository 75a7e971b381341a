import { AppError } from "@atelier/server/platform";
import { byteAt } from "../raster/cells.ts";
import type { Grey } from "../raster/grid.ts";
import type { Pose } from "./pose.ts";

export interface PersonScores {
  readonly face: number;
  /** Of the shoulder that is seen worse. */
  readonly shoulders: number;
  /** Share of the picture that the segmentation is sure of. */
  readonly personShare: number;
}

const leastFaceScore = 0.35;
const leastPersonShoulderScore = 0.25;
const leastPersonShare = 0.01;
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

/** Throws `no_person_found` unless both networks see somebody. */
export function requirePerson({ face, shoulders, personShare }: PersonScores): void {
  const isPosed = face >= leastFaceScore || shoulders >= leastPersonShoulderScore;
  if (isPosed && personShare >= leastPersonShare) return;
  throw new AppError("no_person_found", "No person was found. Use a photo that shows one clearly.", {
    details: { gate: "person", score: Math.max(face, shoulders), face, shoulders, personShare },
  });
}
