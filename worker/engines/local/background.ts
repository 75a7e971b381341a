import type { CV } from "@techstark/opencv-js";
import { makePreview, type Picture, readPicture, workCopy, writePng } from "../pictures.ts";
import { inputPath, type LocalRun } from "./run-context.ts";
import { bodyFrame, drawSkeleton } from "./people/body.ts";
import { personMatte } from "./people/matte.ts";
import { detectPose, detectSelfie, personScores, requirePerson, type Sighting } from "./people/pose.ts";
import { guidedAlpha, maskedBlur, morph } from "./raster/filters.ts";
import {
  areaOf,
  byteAt,
  clamp,
  doubleAt,
  floatAt,
  type Grey,
  intAt,
  lumaPlane,
  type Mask,
  maskWhere,
  planeOf,
  resizeNearest,
  type Rgb,
  rgbPlanes,
  sampleLinear,
} from "./raster/grid.ts";
import { components } from "./raster/shapes.ts";
import type { Runtime } from "./runtime.ts";

const spreadShare = 0.012;
/** Below this share the colour is too uncertain, and the colour of the person nearby is used. */
const minShare = 0.25;

/** Takes the background's colour out of half-transparent pixels of `picture`, in place; `work` is its smaller copy. */
function cleanEdgeColors(picture: Rgb, alpha: Grey, { work, matte }: { work: Rgb; matte: Mask }): void {
  const radius = Math.max(2, Math.round(spreadShare * Math.max(work.width, work.height)));
  const weights = planeOf(matte);
  const outside = planeOf(maskWhere(matte, (i) => !byteAt(matte.data, i)));
  const scale = work.width / picture.width;
  const colors = rgbPlanes(work);
  const persons = maskedBlur(colors, weights, radius);
  const grounds = maskedBlur(colors, outside, radius);
  for (const channel of [0, 1, 2] as const) {
    const [person, ground] = [persons[channel], grounds[channel]];
    for (let i = 0; i < alpha.data.length; i++) {
      const share = byteAt(alpha.data, i) / 255;
      if (share === 0 || share === 1) continue;
      const x = (i % picture.width) * scale;
      const y = Math.floor(i / picture.width) * scale;
      const mixed = byteAt(picture.data, i * 3 + channel);
      const near = sampleLinear(person, x, y);
      const own = (mixed - (1 - share) * sampleLinear(ground, x, y)) / Math.max(share, minShare);
      const trust = clamp((share - minShare) / (1 - minShare), 0, 1);
      picture.data[i * 3 + channel] = Math.round(clamp(near + (own - near) * trust, 0, 255));
    }
  }
}

/** A piece smaller than this share of the largest is not a person. */
const minShareOfLargest = 0.08;

/** Drops small pieces; a group of people may be several pieces. */
function keepPeople(cv: CV, mask: Mask): Mask {
  const { labels, areas } = components(cv, mask);
  const largest = areas.slice(1).reduce((most, area) => Math.max(most, area), 0);
  return maskWhere(mask, (i) => {
    const label = intAt(labels, i);
    return label > 0 && doubleAt(areas, label) >= minShareOfLargest * largest;
  });
}

/** Below this score the pose is too uncertain to locate the person. */
const bonesFromShoulderScore = 0.4;
const nearShare = 0.04;

/** Finds the people to cut out. Throws `no_person_found`. */
async function seePeople(runtime: Runtime, picture: Rgb) {
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

/** Half the width of the band in which alpha is soft, as a share of the longer side. */
const bandShare = 0.008;
const softness = 2e-3;

/**
 * Turns a hard matte at working size into alpha at the size of `picture`: 0 and 255 away from the outline, and in a narrow
 * band along it what the brightness of the picture says.
 */
function softenEdge(cv: CV, { picture, work }: { picture: Rgb; work: Rgb }, matte: Mask): Grey {
  const bandPx = Math.max(2, Math.round(bandShare * Math.max(work.width, work.height)));
  const guide = lumaPlane(work);
  const scaled = { ...guide, data: guide.data.map((value) => value / 255) };
  const line = guidedAlpha(scaled, planeOf(matte), { radius: bandPx, softness });
  const inner = resizeNearest(cv, morph(cv, matte, ["erode", bandPx]), picture);
  const outer = resizeNearest(cv, morph(cv, matte, ["dilate", bandPx]), picture);
  const luma = lumaPlane(picture).data;
  const scale = work.width / picture.width;
  const alpha = new Uint8Array(luma.length);
  for (let i = 0; i < alpha.length; i++) {
    if (byteAt(inner.data, i)) alpha[i] = 255;
    if (byteAt(inner.data, i) || !byteAt(outer.data, i)) continue;
    const x = ((i % picture.width) + 0.5) * scale - 0.5;
    const y = (Math.floor(i / picture.width) + 0.5) * scale - 0.5;
    const value = sampleLinear(line.slope, x, y) * (floatAt(luma, i) / 255) + sampleLinear(line.offset, x, y);
    // Steeper than the fit, which never quite reaches 0 and 1.
    alpha[i] = Math.round(clamp((value - 0.12) / 0.76, 0, 1) * 255);
  }
  return { data: alpha, width: picture.width, height: picture.height };
}

const workSidePx = 768;

/** Cuts people out onto a transparent ground. Throws `no_person_found`, `upload_unreadable`. */
export const runRemoveBackground: LocalRun = async (task, context) => {
  const startedAt = performance.now();
  context.progress(0, "reading");
  const picture = await readPicture(inputPath(task, "image"));
  const work = await workCopy(picture, workSidePx);
  context.progress(0.1, "pose");
  const { sighting, scores } = await seePeople(context.runtime, work);
  context.progress(0.4, "matte");
  const { cv } = await context.runtime.vision();
  const matte = personMatte(cv, sighting, (mask) => keepPeople(cv, mask));
  context.preview(await makePreview(dimGround(work, matte.mask)));
  context.progress(0.7, "edge");
  const alpha = softenEdge(cv, { picture, work }, matte.mask);
  cleanEdgeColors(picture, alpha, { work, matte: matte.mask });
  context.progress(0.9, "writing");
  const path = await writePng({ ...picture, alpha: keepTransparency(picture, alpha) }, task.workDir);
  context.progress(1, "writing");
  const matteShare = areaOf(matte.mask) / matte.mask.data.length;
  const timeMs = Math.round(performance.now() - startedAt);
  const facts = { scores, matteShare, boneAgreement: matte.boneAgreement, timeMs };
  return [{ path, mime: "image/png", facts }];
};

/** Pixels that were transparent before stay transparent. */
function keepTransparency(picture: Picture, alpha: Grey): Grey {
  const old = picture.alpha;
  if (!old) return alpha;
  return { ...alpha, data: alpha.data.map((value, i) => Math.round((value * byteAt(old.data, i)) / 255)) };
}

function dimGround(work: Rgb, matte: Mask): Rgb {
  const data = work.data.map((value, i) => (byteAt(matte.data, Math.floor(i / 3)) ? value : value >> 2));
  return { ...work, data };
}
