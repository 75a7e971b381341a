import path from "node:path";
import sharp from "sharp";
import { makePreview, type Picture, readPicture, workCopy, writePng, writeSharp } from "../pictures.ts";
import type { EngineTask } from "../port.ts";
import { groundOf, isCutOut, layOnGround } from "./ground.ts";
import { byteAt, type Grey, type Mask, type Rgb } from "./raster/grid.ts";
import { inputPath, type LocalRun, type RunContext } from "./run-context.ts";
import { cleanEdgeColors, softenEdge } from "./subject/edge.ts";
import { findSubject, placeOf, type Subject, type SubjectWish } from "./subject/find.ts";

const workSidePx = 768;

interface FoundSubject {
  /** A smaller copy, which the subject was found in. */
  readonly work: Rgb;
  readonly subject: Subject;
  /** Of the subject, at the size of the picture. */
  readonly alpha: Grey;
}

/** Finds the subject of a picture. Throws `nothing_stands_out`, `garment_unsuitable`. */
async function cutSubject(picture: Picture, wish: SubjectWish, context: RunContext): Promise<FoundSubject> {
  const work = await workCopy(picture, workSidePx);
  const subject = await findSubject(context, work, wish);
  const { cv } = await context.runtime.vision();
  context.preview(await makePreview(dimGround(work, subject.mask)));
  context.progress(0.7, "edge");
  const alpha = keepTransparency(picture, softenEdge(cv, { picture, work }, subject.mask));
  return { work, subject, alpha };
}

const factsOf = ({ found, mask, facts }: Subject, startedAt: number) => ({
  found,
  ...facts,
  ...placeOf(mask),
  timeMs: Math.round(performance.now() - startedAt),
});

/** The alpha of a subject, whose edge in `picture` then holds no colour of what was behind it; and facts of the run. */
async function cutOut(picture: Picture, task: EngineTask, context: RunContext) {
  const startedAt = performance.now();
  const wish = task.params["subject"] === "garment" ? "garment" : "auto";
  const { work, subject, alpha } = await cutSubject(picture, wish, context);
  cleanEdgeColors(picture, alpha, { work, matte: subject.mask });
  return { alpha, facts: factsOf(subject, startedAt) };
}

/**
 * Cuts what stands out, or a garment, out onto a transparent ground, a colour or a picture, without the colours of what was
 * cut away. A picture that is cut out already is laid on its new ground as it is. Throws `nothing_stands_out`,
 * `garment_unsuitable`, `upload_unreadable`.
 */
export const runRemoveBackground: LocalRun = async (task, context) => {
  context.progress(0, "reading");
  const picture = await readPicture(inputPath(task, "image"));
  const ground = groundOf(task);
  const own = ground !== null && isCutOut(picture) ? picture.alpha : undefined;
  const { alpha, facts } =
    own === undefined ? await cutOut(picture, task, context) : { alpha: own, facts: {} };
  if (ground !== null) context.progress(0.8, "compose");
  const made = ground === null ? { ...picture, alpha } : await layOnGround(picture, alpha, ground);
  context.progress(0.9, "writing");
  const file = await writePng(made, task.workDir);
  context.progress(1, "writing");
  return [{ path: file, mime: "image/png", facts }];
};

/** Selects what stands out: a mask of the picture's size, white = selected. Throws `nothing_stands_out`, `upload_unreadable`. */
export const runSelectSubject: LocalRun = async (task, context) => {
  const startedAt = performance.now();
  context.progress(0, "reading");
  const picture = await readPicture(inputPath(task, "image"));
  const { subject, alpha } = await cutSubject(picture, "auto", context);
  context.progress(0.9, "writing");
  const file = path.join(task.workDir, "result.png");
  const { data, width, height } = alpha;
  const grey = sharp(data, { raw: { width, height, channels: 1 }, limitInputPixels: false });
  await writeSharp(grey.toColourspace("b-w").png(), file);
  context.progress(1, "writing");
  return [{ path: file, mime: "image/png", facts: factsOf(subject, startedAt) }];
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
