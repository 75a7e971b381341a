import { copyFile, readFile, writeFile } from "node:fs/promises";
import path from "node:path";
import sharp, { type Sharp } from "sharp";
import type { InputRole } from "@atelier/server/engines";
import { stripPlainPng } from "@atelier/server/images";
import { AppError } from "@atelier/server/platform";
import type { Workflow } from "@atelier/server/workflows";
import type { Grey, Size } from "../local/raster/grid.ts";
import {
  forgetHidden,
  keepTransparency,
  maskBounds,
  readGreyMask,
  readSize,
  writeSharp,
} from "../pictures.ts";
import type { EngineTask } from "../port.ts";
import { prepareExpand } from "./expand.ts";
import { type Canvas, isSameSize, maxPixels, pasteResult, type Region, roundUp } from "../paste.ts";

/** The pictures of a job as they are uploaded, and how its result is made from the server's answer. */
export interface PreparedPictures {
  readonly files: EngineTask["inputs"];
  /** Params that fit the pictures as they are uploaded, in place of the job's own. */
  readonly params?: Readonly<Record<string, unknown>>;
  /** Writes the result of the job from a picture of the server: pixels only, without metadata of the server's file. */
  finish(result: string, target: string): Promise<void>;
}

/**
 * Prepares the pictures for the server. With a mask and a workflow that pastes back: a crop around the mask. For upscale:
 * sides padded to a multiple. Else unchanged; a selection becomes a mask. Throws `mask_size`, `mask_empty`, `upload_unreadable`.
 */
export async function preparePictures(task: EngineTask, workflow: Workflow): Promise<PreparedPictures> {
  const role = task.inputs.image ? "image" : "person";
  const picture = task.inputs[role];
  const { mask } = task.inputs;
  if (picture && mask && workflow.paste) return prepareRepaint(task, workflow, { role, picture, mask });
  const plain = { files: task.inputs, finish: writeClean };
  if (task.kind === "remove_background") return { ...plain, finish: writeCutOut };
  return picture === undefined ? plain : prepareOne(task, workflow, picture);
}

/** Of the kinds that change one picture without a mask. */
async function prepareOne(task: EngineTask, workflow: Workflow, picture: string): Promise<PreparedPictures> {
  const plain = { files: task.inputs, finish: writeClean };
  if (task.kind === "upscale")
    return withTransparency(picture, await prepareEnlarge(task, workflow, picture));
  if (task.kind === "expand") return prepareExpand(task, workflow, picture);
  if (task.kind === "segment") return { ...plain, finish: await selectionOf(picture) };
  return task.kind === "restore_faces" ? withTransparency(picture, plain) : plain;
}

async function writeCutOut(result: string, target: string): Promise<void> {
  await writeClean(result, target);
  await forgetHidden(target);
}

/** Writes a selection as a grey mask of the picture's size. Throws `mask_empty` when nothing was found. */
async function selectionOf(picture: string): Promise<PreparedPictures["finish"]> {
  const size = await readSize(picture);
  return async (result, target) => {
    const made = await readSize(result);
    if (!isSameSize(made, size))
      throw new AppError("engine_failed", "The server's mask does not have the picture's size.");
    const { data } = await readGreyMask(result, size);
    const raw = { ...size, channels: 1 } as const;
    const grey = sharp(data, { raw, limitInputPixels: false });
    await writeSharp(grey.toColourspace("b-w").png(), target);
  };
}

/** The result keeps the transparency of the picture, which the models of these kinds do not read. */
function withTransparency(picture: string, prepared: PreparedPictures): PreparedPictures {
  return {
    files: prepared.files,
    async finish(result, target) {
      await prepared.finish(result, target);
      await keepTransparency(picture, target);
    },
  };
}

interface Marked {
  readonly role: InputRole;
  readonly picture: string;
  readonly mask: string;
}

async function prepareRepaint(
  task: EngineTask,
  workflow: Workflow,
  marked: Marked,
): Promise<PreparedPictures> {
  const { role, picture } = marked;
  const mask = await readGreyMask(marked.mask, await readSize(picture));
  // Without a model any size is fine, and the other inputs fit the whole picture only.
  const hasModel = workflow.models.length > 0;
  const region = hasModel ? chooseRegion(mask) : whole(mask);
  const canvas = planCanvas(region, workflow.sizeMultipleOf, hasModel ? maxPixels : Infinity);
  const files = { ...task.inputs };
  if (!isSameSize(canvas.padded, mask)) {
    files[role] = path.join(task.workDir, "canvas.png");
    files.mask = path.join(task.workDir, "canvas-mask.png");
    await cutPicture(picture, canvas, files[role]);
    await cutMask(marked.mask, canvas, files.mask);
  }
  if (task.maskPath) await copyFile(marked.mask, task.maskPath);
  return { files, finish: (result, target) => pasteResult({ picture, mask, canvas, result, target }) };
}

async function prepareEnlarge(
  task: EngineTask,
  workflow: Workflow,
  picture: string,
): Promise<PreparedPictures> {
  const size = await readSize(picture);
  const padded = roundUp(size, workflow.sizeMultipleOf);
  if (isSameSize(size, padded)) return { files: task.inputs, finish: writeClean };
  const image = path.join(task.workDir, "canvas.png");
  await cutPicture(picture, { region: whole(size), work: size, padded }, image);
  return {
    files: { ...task.inputs, image },
    async finish(result, target) {
      const made = await readSize(result);
      const width = Math.round((made.width * size.width) / padded.width);
      const height = Math.round((made.height * size.height) / padded.height);
      const part = sharp(result, { limitInputPixels: false }).extract({ left: 0, top: 0, width, height });
      await writeSharp(part.toColourspace("srgb").png(), target);
    },
  };
}

/** Writes the pixels only: a server's file holds the workflow with the prompt as metadata. */
async function writeClean(result: string, target: string): Promise<void> {
  const plain = stripPlainPng(await readFile(result));
  if (plain) return writeFile(target, plain);
  const clean = sharp(result, { limitInputPixels: false }).toColourspace("srgb").png();
  await writeSharp(clean, target);
}

/** Sides of `padded` are multiples of `multipleOf`; `work` has at most `maxPixels`. */
function planCanvas(region: Region, multipleOf: number, maxPixels: number): Canvas {
  const scale = Math.min(1, Math.sqrt(maxPixels / (region.width * region.height)));
  const work = {
    width: Math.max(1, Math.round(region.width * scale)),
    height: Math.max(1, Math.round(region.height * scale)),
  };
  return { region, work, padded: roundUp(work, multipleOf) };
}

/** Margin around the marked pixels as a share of their longer side: the context that the model sees. */
const marginShare = 0.5;
const minMarginPx = 128;
/** Models give poor results for smaller pictures. */
const minSidePx = 768;
/** A region above this share becomes the whole picture. */
const wholeShare = 0.6;

/** The region of the picture that is sent to repaint the marked pixels. */
function chooseRegion(mask: Grey): Region {
  const marked = maskBounds(mask);
  const margin = Math.max(minMarginPx, Math.round(marginShare * Math.max(marked.width, marked.height)));
  const across = widen([marked.left, marked.width], margin, mask.width);
  const down = widen([marked.top, marked.height], margin, mask.height);
  const region = { left: across.start, top: down.start, width: across.length, height: down.length };
  return region.width * region.height > wholeShare * mask.width * mask.height ? whole(mask) : region;
}

function whole({ width, height }: Size): Region {
  return { left: 0, top: 0, width, height };
}

/** A span with its margin, at least as long as a model needs, within 0 and `endPx`. */
function widen([startPx, lengthPx]: [number, number], marginPx: number, endPx: number) {
  const length = Math.min(endPx, Math.max(minSidePx, lengthPx + 2 * marginPx));
  const centered = Math.round(startPx + lengthPx / 2 - length / 2);
  return { start: Math.max(0, Math.min(endPx - length, centered)), length };
}

/** Writes the region of the picture that is sent; the margin repeats its edge pixels. */
async function cutPicture(source: string, canvas: Canvas, target: string): Promise<void> {
  const picture = sharp(source, { limitInputPixels: false }).flatten({ background: "#ffffff" });
  const part = cut(picture, canvas).extend({ ...marginOf(canvas), extendWith: "copy" });
  await writeSharp(part.png(), target);
}

/** Writes the same region of the mask; the margin is not marked. */
async function cutMask(source: string, canvas: Canvas, target: string): Promise<void> {
  const mask = sharp(source, { limitInputPixels: false })
    .flatten({ background: "#000000" })
    .toColourspace("b-w");
  const part = cut(mask, canvas).extend({ ...marginOf(canvas), background: "#000000" });
  await writeSharp(part.png(), target);
}

function cut(picture: Sharp, { region, work }: Canvas): Sharp {
  return picture.extract(region).resize(work.width, work.height, { fit: "fill" });
}

function marginOf({ work, padded }: Canvas) {
  return { right: padded.width - work.width, bottom: padded.height - work.height };
}
