import { copyFile } from "node:fs/promises";
import path from "node:path";
import sharp from "sharp";
import type { InputRole } from "@atelier/server/engines";
import type { Workflow } from "@atelier/server/workflows";
import type { EngineTask } from "../port.ts";
import { chooseRegion, whole } from "./canvas/choose-region.ts";
import { cutMask, cutPicture } from "./canvas/cut-canvas.ts";
import { pasteResult } from "./paste.ts";
import { planCanvas } from "./canvas/plan-canvas.ts";
import { readMask } from "./canvas/read-mask.ts";
import { readSize } from "./canvas/read-size.ts";
import { isSameSize, roundUp } from "./canvas/size.ts";
import { writeSharp } from "../write-sharp.ts";

/** Above this, models repeat themselves and graphics cards run full; about what they were trained with. */
const mostPixels = 1_600_000;

/** The pictures of a job as a server is given them, and what is done to its answer. */
export interface PreparedPictures {
  readonly files: EngineTask["inputs"];
  /** Writes the picture of the job from one that the server made: pixels only, nothing else of the server's file. */
  finish(result: string, target: string): Promise<void>;
}

/**
 * Cuts out what is to be repainted, in a size that suits the workflow, where the result is laid back into the picture;
 * makes the sides fit for enlarging; else leaves the pictures alone. Throws `mask_size`, `mask_empty`, `upload_unreadable`.
 */
export async function preparePictures(task: EngineTask, workflow: Workflow): Promise<PreparedPictures> {
  const role = task.inputs.image ? "image" : "person";
  const picture = task.inputs[role];
  const { mask } = task.inputs;
  if (picture && mask && workflow.paste) return prepareRepaint(task, workflow, { role, picture, mask });
  if (picture && task.kind === "upscale") return prepareEnlarge(task, workflow, picture);
  return { files: task.inputs, finish: writeClean };
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
  const mask = await readMask(marked.mask, await readSize(picture));
  // Without a model any size will do, and pictures beside it are made for the whole one.
  const hasModel = workflow.models.length > 0;
  const region = hasModel ? chooseRegion(mask) : whole(mask);
  const canvas = planCanvas(region, workflow.sizeMultipleOf, hasModel ? mostPixels : Infinity);
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

/** A server's file holds the workflow with the prompt, which stays out of pictures. */
async function writeClean(result: string, target: string): Promise<void> {
  const clean = sharp(result, { limitInputPixels: false }).toColourspace("srgb").png();
  await writeSharp(clean, target);
}
