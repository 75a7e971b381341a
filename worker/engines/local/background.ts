import path from "node:path";
import sharp from "sharp";
import { makePreview, type Picture, readPicture, workCopy, writePng, writeSharp } from "../pictures.ts";
import { byteAt, type Grey, type Mask, type Rgb } from "./raster/grid.ts";
import { inputPath, type LocalRun, type RunContext } from "./run-context.ts";
import { cleanEdgeColors, softenEdge } from "./subject/edge.ts";
import { findSubject, placeOf, type Subject, type SubjectWish } from "./subject/find.ts";

const workSidePx = 768;

interface FoundSubject {
  readonly picture: Picture;
  /** A smaller copy, which the subject was found in. */
  readonly work: Rgb;
  readonly subject: Subject;
  /** Of the subject, at the size of the picture. */
  readonly alpha: Grey;
}

/** Reads the picture and finds its subject. Throws `nothing_stands_out`, `garment_unsuitable`, `upload_unreadable`. */
async function readSubject(file: string, wish: SubjectWish, context: RunContext): Promise<FoundSubject> {
  context.progress(0, "reading");
  const picture = await readPicture(file);
  const work = await workCopy(picture, workSidePx);
  const subject = await findSubject(context, work, wish);
  const { cv } = await context.runtime.vision();
  context.preview(await makePreview(dimGround(work, subject.mask)));
  context.progress(0.7, "edge");
  const alpha = keepTransparency(picture, softenEdge(cv, { picture, work }, subject.mask));
  return { picture, work, subject, alpha };
}

const factsOf = ({ found, mask, facts }: Subject, startedAt: number) => ({
  found,
  ...facts,
  ...placeOf(mask),
  timeMs: Math.round(performance.now() - startedAt),
});

/**
 * Cuts what stands out, or a garment, out onto a transparent ground, without the colours of what was cut away. Throws
 * `nothing_stands_out`, `garment_unsuitable`, `upload_unreadable`.
 */
export const runRemoveBackground: LocalRun = async (task, context) => {
  const startedAt = performance.now();
  const wish = task.params["subject"] === "garment" ? "garment" : "auto";
  const { picture, work, subject, alpha } = await readSubject(inputPath(task, "image"), wish, context);
  cleanEdgeColors(picture, alpha, { work, matte: subject.mask });
  context.progress(0.9, "writing");
  const file = await writePng({ ...picture, alpha }, task.workDir);
  context.progress(1, "writing");
  return [{ path: file, mime: "image/png", facts: factsOf(subject, startedAt) }];
};

/** Selects what stands out: a mask of the picture's size, white = selected. Throws `nothing_stands_out`, `upload_unreadable`. */
export const runSelectSubject: LocalRun = async (task, context) => {
  const startedAt = performance.now();
  const { subject, alpha } = await readSubject(inputPath(task, "image"), "auto", context);
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
