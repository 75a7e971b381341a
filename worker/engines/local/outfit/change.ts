import type { CV } from "@techstark/opencv-js";
import { makePreview, readPicture, workCopy, writeMask, writePng } from "../../pictures.ts";
import { inputPath, type LocalRun, type RunContext } from "../run-context.ts";
import { garmentMask, refuseGarment } from "../garment/mask.ts";
import { garmentLandmarks, type GarmentShape } from "../garment/shape.ts";
import { bodyFrame, type BodyFrame, drawReach, drawSkeleton, torsoPolygon } from "../people/body.ts";
import { type Clothes, clothesMask } from "../people/masks.ts";
import { personMatte } from "../people/matte.ts";
import {
  detectPose,
  detectSelfie,
  judgePose,
  personScores,
  refusePerson,
  requireOnePerson,
  requirePerson,
} from "../people/pose.ts";
import { areaOf, byteAt, emptyMask, type Mask, maskWhere, type Rgb } from "../raster/grid.ts";
import { drawCapsule, largestComponent } from "../raster/shapes.ts";
import { composeOutfit, mergeOverlay } from "./compose.ts";

const workSidePx = 768;
/** A garment longer than this below the armpits, in its own widths, is a dress. */
const dressLengthRatio = 1.55;

type Category = "auto" | "top" | "bottom" | "dress";

/** Reads and measures the garment. Throws `garment_unsuitable`. */
async function readGarment(cv: CV, file: string, category: Category) {
  if (category === "bottom") {
    throw refuseGarment(
      "The preview can put on tops and dresses, not trousers or skirts. Choose a top or a dress.",
      {
        gate: "category",
        score: 0,
      },
    );
  }
  const picture = await workCopy(await readPicture(file), workSidePx);
  const { mask, cloth, scores } = garmentMask(cv, picture);
  const shape = garmentLandmarks(mask);
  const isLong = category === "auto" ? shape.lengthRatio > dressLengthRatio : category === "dress";
  return {
    garment: { picture, mask, cloth: withoutArmpits(cloth, shape), shape },
    scores: { ...scores, lengthRatio: shape.lengthRatio },
    isLong,
  };
}

/** The gap below a sleeve ends in a wedge too narrow to be seen as ground: its colours are left out. */
function withoutArmpits(cloth: Mask, { armpits, sleeves, width }: GarmentShape): Mask {
  if (!sleeves) return cloth;
  const wedges = emptyMask(cloth);
  for (const armpit of armpits) {
    drawCapsule(wedges, {
      from: armpit,
      to: { x: armpit.x, y: armpit.y - 0.1 * width },
      radius: 0.025 * width,
    });
  }
  return maskWhere(cloth, (i) => byteAt(cloth.data, i) === 1 && !byteAt(wedges.data, i));
}

const minBoneAgreement = 0.7;
const minCoverage = 0.55;

/** Finds the person and their clothes. Throws `no_person_found`, `person_unsuitable`. */
async function readPerson(cv: CV, picture: Rgb, context: RunContext) {
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
  if (matte.boneAgreement < minBoneAgreement) {
    throw refusePerson(
      "The person could not be separated from the background. Use a photo with a plainer background.",
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
  if (clothes.coverage < minCoverage) {
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

interface Garment {
  readonly picture: Rgb;
  readonly mask: Mask;
  readonly cloth: Mask;
  readonly shape: GarmentShape;
}

/** The measured person and garment, before the garment is fitted; masks have the size of `picture`. */
export interface Scene {
  readonly cv: CV;
  readonly picture: Rgb;
  readonly frame: BodyFrame;
  readonly person: Mask;
  readonly clothes: Clothes;
  readonly garment: Garment;
  /** Reaches below the hips, as a dress does. */
  readonly isLong: boolean;
}

/**
 * Lays a garment from a product photo over a person: a composite to preview an outfit, no generated picture. Every pixel
 * outside the mask stays unchanged. Throws `no_person_found`, `person_unsuitable`, `garment_unsuitable`,
 * `upload_unreadable`; details hold the `gate` and its `score`.
 */
export const runOutfitChange: LocalRun = async (task, context) => {
  const startedAt = performance.now();
  context.progress(0, "reading");
  const photo = await readPicture(inputPath(task, "person"));
  const picture = await workCopy(photo, workSidePx);
  const { cv } = await context.runtime.vision();
  context.progress(0.1, "garment");
  const category = (task.params["category"] ?? "auto") as Category;
  const worn = await readGarment(cv, inputPath(task, "garment"), category);
  const seen = await readPerson(cv, picture, context);
  const { frame, person, clothes } = seen;
  const scene = { cv, picture, frame, person, clothes, garment: worn.garment, isLong: worn.isLong };
  const { overlay, torsoPainted } = composeOutfit(scene, context);
  context.preview(await previewOf(picture, (copy) => mergeOverlay(copy, overlay)));
  context.progress(0.9, "writing");
  const mask = mergeOverlay(photo, overlay);
  const path = await writePng(photo, task.workDir);
  if (task.maskPath) await writeMask(mask, task.maskPath);
  context.progress(1, "writing");
  const scale = photo.width / picture.width;
  const facts = {
    scores: { person: seen.scores, garment: worn.scores, torsoPainted },
    isDress: worn.isLong,
    maskPixels: areaOf(mask),
    torso: torsoPolygon(frame).map(({ x, y }) => [Math.round(x * scale), Math.round(y * scale)]),
    timeMs: Math.round(performance.now() - startedAt),
  };
  return [{ path, mime: "image/png", facts }];
};

async function previewOf(picture: Rgb, draw: (copy: Rgb) => unknown): Promise<Uint8Array> {
  const copy = { ...picture, data: Uint8Array.from(picture.data) };
  draw(copy);
  return makePreview(copy);
}
