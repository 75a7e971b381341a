import type { CV } from "@techstark/opencv-js";
import { AppError } from "@atelier/server/platform";
import { refuseGarment } from "../garment/mask.ts";
import { bodyFrame, drawSkeleton } from "../people/body.ts";
import { personMatte } from "../people/matte.ts";
import {
  detectPose,
  detectSelfie,
  isPersonSeen,
  type PersonScores,
  personScores,
  type Sighting,
} from "../people/pose.ts";
import { areaOf, byteAt, type Mask, type Rgb } from "../raster/grid.ts";
import { fillHoles } from "../raster/shapes.ts";
import type { RunContext } from "../run-context.ts";
import { cutByColor, detectSalience, keepLarge, salientMask } from "./salience.ts";

/** What is asked for: `auto` is whatever stands out, people first. */
export type SubjectWish = "auto" | "garment";

export interface Subject {
  readonly found: "person" | "object" | "garment";
  readonly mask: Mask;
  /** Facts of the run, stored with the job. */
  readonly facts: Readonly<Record<string, unknown>>;
}

/** Below this score the pose is too uncertain to locate the person. */
const bonesFromShoulderScore = 0.4;
const nearShare = 0.04;
/** From this score on a face is seen: clothes without a wearer have shoulders, too. */
const faceScore = 0.35;
/** In shares of the picture, holes up to this size in a garment are light patterns. */
const patternShare = 0.01;

/**
 * Finds what a picture is of. People whose face is seen are cut out by pose and segmentation; anything else, and people
 * seen from behind, by what stands out. Throws `nothing_stands_out`; for a garment also `garment_unsuitable`.
 */
export async function findSubject(
  { runtime, progress }: Pick<RunContext, "runtime" | "progress">,
  work: Rgb,
  wish: SubjectWish,
): Promise<Subject> {
  const { cv } = await runtime.vision();
  progress(0.1, "pose");
  const pose = await detectPose(runtime, work);
  const selfie = await detectSelfie(runtime, work);
  const person = personScores(pose, selfie);
  const hasFace = isPersonSeen(person) && person.face >= faceScore;
  if (hasFace && wish === "garment")
    throw refuseGarment("Someone wears it. Use a photo of the garment alone, laid flat or hung up.", {
      gate: "garment_worn",
      score: person.face,
    });
  const isBodySeen = person.shoulders >= bonesFromShoulderScore;
  const sighting: Sighting = {
    picture: work,
    selfie,
    nearPx: nearShare * Math.max(work.width, work.height),
    ...(isBodySeen && { skeleton: drawSkeleton(bodyFrame(pose), work) }),
  };
  if (hasFace) return cutPerson(cv, sighting, person);
  progress(0.3, "salience");
  const salience = await detectSalience(runtime, work);
  progress(0.5, "matte");
  try {
    const { mask, scores } = salientMask(cv, salience);
    if (wish === "auto") return { found: "object", mask, facts: { scores: { ...person, ...scores } } };
    const cloth = cutByColor(cv, work, salience);
    const patternPx = patternShare * cloth.data.length;
    const whole = fillHoles(cv, cloth, { accept: (areaPx) => areaPx < patternPx });
    return { found: "garment", mask: whole, facts: { scores } };
  } catch (error) {
    const isPerson = wish === "auto" && isPersonSeen(person);
    if (error instanceof AppError && isPerson) return cutPerson(cv, sighting, person);
    throw error;
  }
}

function cutPerson(cv: CV, sighting: Sighting, scores: PersonScores): Subject {
  const { mask, boneAgreement } = personMatte(cv, sighting, (pieces) => keepLarge(cv, pieces));
  return { found: "person", mask, facts: { scores, boneAgreement } };
}

/** Where the subject is, in shares of the sides; and how much of the picture it covers. */
export function placeOf({ data, width, height }: Mask): Readonly<Record<string, unknown>> {
  let [left, right, top, bottom] = [width, -1, height, -1];
  for (let i = 0; i < data.length; i++) {
    if (!byteAt(data, i)) continue;
    const x = i % width;
    const y = Math.floor(i / width);
    left = Math.min(left, x);
    right = Math.max(right, x);
    top = Math.min(top, y);
    bottom = Math.max(bottom, y);
  }
  const share = (value: number, of: number) => Math.round((value / of) * 1_000) / 1_000;
  return {
    matteShare: share(areaOf({ data, width, height }), data.length),
    bounds: {
      left: share(left, width),
      top: share(top, height),
      right: share(right + 1, width),
      bottom: share(bottom + 1, height),
    },
  };
}
