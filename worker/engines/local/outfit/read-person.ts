import type { CV } from "@techstark/opencv-js";
import { bodyFrame } from "../people/body.ts";
import { clothesMask } from "../people/masks.ts";
import { detectPose } from "../people/pose.ts";
import { detectSelfie } from "../people/detect-selfie.ts";
import { drawReach, drawSkeleton } from "../people/draw-body.ts";
import { judgePose } from "../people/judge-pose.ts";
import { personMatte } from "../people/matte.ts";
import { personScores, requirePerson } from "../people/person-scores.ts";
import { refusePerson } from "../people/refuse-person.ts";
import { requireOnePerson } from "../people/require-one-person.ts";
import type { Rgb } from "../raster/grid.ts";
import { largestComponent } from "../raster/largest-component.ts";
import type { RunContext } from "../run-context.ts";

const leastBoneAgreement = 0.7;
const leastCoverage = 0.55;

/** Finds the person and what they wear. Throws `no_person_found`, `person_unsuitable`. */
export async function readPerson(cv: CV, picture: Rgb, context: RunContext) {
  const { runtime } = context;
  context.progress(0.2, "pose");
  const pose = await detectPose(runtime, picture);
  const selfie = await detectSelfie(runtime, picture);
  const scores = personScores(pose, selfie);
  requirePerson(scores);
  const frame = bodyFrame(pose);
  judgePose(frame, picture);
  context.progress(0.35, "matte");
  const sighting = {
    picture,
    selfie,
    skeleton: drawSkeleton(frame, picture),
    reach: drawReach(frame, picture),
    nearPx: 0.12 * frame.shoulderWidthPx,
  };
  const matte = personMatte(cv, sighting, (mask, bones) => largestComponent(cv, mask, bones).mask);
  if (matte.boneAgreement < leastBoneAgreement) {
    throw refusePerson(
      "The person could not be told from the background. Use a photo on a calmer background.",
      {
        gate: "matte",
        score: matte.boneAgreement,
      },
    );
  }
  const person = matte.mask;
  await requireOnePerson({ cv, runtime }, { picture, selfie, person, frame });
  context.progress(0.5, "clothes");
  const clothes = clothesMask(cv, { picture, person }, frame);
  if (clothes.coverage < leastCoverage) {
    throw refusePerson(
      "The clothes on the upper body could not be found. Use a photo with nothing in front of it.",
      {
        gate: "coverage",
        score: clothes.coverage,
      },
    );
  }
  const facts = { ...scores, boneAgreement: matte.boneAgreement, clothesCoverage: clothes.coverage };
  return { frame, person, clothes, scores: facts };
}
