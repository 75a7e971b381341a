import type { Rgb } from "../raster/grid.ts";
import type { Runtime } from "../runtime/create-runtime.ts";
import { bodyFrame } from "../people/body.ts";
import { detectPose } from "../people/pose.ts";
import { detectSelfie } from "../people/detect-selfie.ts";
import { drawSkeleton } from "../people/draw-body.ts";
import { personScores, requirePerson } from "../people/person-scores.ts";
import type { Sighting } from "../people/sighting.ts";

/** Below it the bones say nothing sure about where the person is. */
const bonesFromShoulderScore = 0.4;
const nearShare = 0.04;

/** Finds the people to cut out. Throws `no_person_found`. */
export async function seePeople(runtime: Runtime, picture: Rgb) {
  const pose = await detectPose(runtime, picture);
  const selfie = await detectSelfie(runtime, picture);
  const scores = personScores(pose, selfie);
  requirePerson(scores);
  const isBodySeen = scores.shoulders >= bonesFromShoulderScore;
  const sighting: Sighting = {
    picture,
    selfie,
    nearPx: nearShare * Math.max(picture.width, picture.height),
    ...(isBodySeen && { skeleton: drawSkeleton(bodyFrame(pose), picture) }),
  };
  return { sighting, scores };
}
