import { AppError } from "@atelier/server/platform";
import { byteAt } from "../raster/cells.ts";
import type { Grey, Rgb } from "../raster/grid.ts";
import type { Runtime } from "../runtime/create-runtime.ts";
import { bodyFrame } from "../people/body-frame.ts";
import { detectPose, type Pose } from "../people/detect-pose.ts";
import { detectSelfie } from "../people/detect-selfie.ts";
import { drawSkeleton } from "../people/draw-body.ts";
import type { Sighting } from "../people/sighting.ts";

/** Gates of a cut-out: below any of them there is nobody that could be cut out. */
const leastFaceScore = 0.35;
const leastShoulderScore = 0.25;
const leastPersonShare = 0.01;
const bonesFromShoulderScore = 0.4;
const nearShare = 0.04;

export interface PeopleScores {
  readonly face: number;
  readonly shoulders: number;
  /** Share of the picture that the segmentation is sure of. */
  readonly personShare: number;
}

/** Finds the people to cut out. Throws `no_person_found`. */
export async function seePeople(runtime: Runtime, picture: Rgb) {
  const pose = await detectPose(runtime, picture);
  const selfie = await detectSelfie(runtime, picture);
  const scores = scoresOf(pose, selfie);
  const isSeen =
    scores.personShare >= leastPersonShare &&
    (scores.face >= leastFaceScore || scores.shoulders >= leastShoulderScore);
  if (!isSeen) {
    throw new AppError(
      "no_person_found",
      "No person was found in the picture. Only people can be cut out: use a photo that shows one clearly.",
      { details: { ...scores } },
    );
  }
  const isBodySeen = scores.shoulders >= bonesFromShoulderScore;
  const sighting: Sighting = {
    picture,
    selfie,
    nearPx: nearShare * Math.max(picture.width, picture.height),
    ...(isBodySeen && { skeleton: drawSkeleton(bodyFrame(pose), picture) }),
  };
  return { sighting, scores };
}

function scoresOf(pose: Pose, selfie: Grey): PeopleScores {
  let sure = 0;
  for (let i = 0; i < selfie.data.length; i++) if (byteAt(selfie.data, i) > 200) sure++;
  const rounded = (value: number) => Math.round(value * 1_000) / 1_000;
  return {
    face: rounded(Math.min(pose.nose.score, Math.max(pose.leftEye.score, pose.rightEye.score))),
    shoulders: rounded(Math.min(pose.leftShoulder.score, pose.rightShoulder.score)),
    personShare: rounded(sure / selfie.data.length),
  };
}
