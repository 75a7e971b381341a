import path from "node:path";
import sharp from "sharp";
import { z } from "zod";
import type { Workflow } from "@atelier/server/workflows";
import type { Grey, Size } from "../local/raster/grid.ts";
import { readSize, writeSharp } from "../pictures.ts";
import type { EngineTask } from "../port.ts";
import { type Canvas, maxPixels, pasteResult, roundUp } from "../paste.ts";
import type { PreparedPictures } from "./canvas.ts";

const margin = z.number().int().nonnegative().default(0);
/** By how much each side grows, in pixels. */
const marginsSchema = z.object({ left: margin, top: margin, right: margin, bottom: margin });
type Margins = z.output<typeof marginsSchema>;

const grow = ({ width, height }: Size, { left, top, right, bottom }: Margins): Size => ({
  width: width + left + right,
  height: height + top + bottom,
});

/**
 * An expanded picture is made at a size that models know, then enlarged to the exact one, and the picture itself is laid over
 * it: but for a seam along the sides that grew every pixel stays as it was.
 */
export async function prepareExpand(
  task: EngineTask,
  workflow: Workflow,
  picture: string,
): Promise<PreparedPictures> {
  const size = await readSize(picture);
  const margins = marginsSchema.parse(task.params);
  const full = grow(size, margins);
  const scale = Math.min(1, Math.sqrt(maxPixels / (full.width * full.height)));
  const scaled = (px: number) => (px === 0 ? 0 : Math.max(1, Math.round(px * scale)));
  const inner = { width: scaled(size.width), height: scaled(size.height) };
  const sent = {
    left: scaled(margins.left),
    top: scaled(margins.top),
    right: scaled(margins.right),
    bottom: scaled(margins.bottom),
  };
  const work = grow(inner, sent);
  const padded = roundUp(work, workflow.sizeMultipleOf);
  const image = path.join(task.workDir, "canvas.png");
  await shrink(picture, inner, image);
  const ground = path.join(task.workDir, "ground.png");
  await extend(picture, margins, ground);
  const canvas: Canvas = { region: { left: 0, top: 0, ...full }, work, padded };
  const mask = maskOf(size, margins, seamPx / scale);
  return {
    files: { ...task.inputs, image },
    params: {
      ...sent,
      // What makes the sides fit the workflow is cut off again.
      right: sent.right + padded.width - work.width,
      bottom: sent.bottom + padded.height - work.height,
    },
    finish: (result, target) => pasteResult({ picture: ground, mask, canvas, result, target }),
  };
}

async function shrink(source: string, { width, height }: Size, target: string): Promise<void> {
  const picture = sharp(source, { limitInputPixels: false }).flatten({ background: "#ffffff" });
  await writeSharp(picture.resize(width, height, { fit: "fill" }).png(), target);
}

/** The picture with empty, opaque margins. */
async function extend(source: string, margins: Margins, target: string): Promise<void> {
  const picture = sharp(source, { limitInputPixels: false }).toColourspace("srgb");
  await writeSharp(picture.extend({ ...margins, background: "#808080" }).png(), target);
}

/** Width of the seam as the model sees it. */
const seamPx = 16;

/** White in the margins, black in the picture, with a slope inside along the sides that grew. */
function maskOf(size: Size, margins: Margins, seam: number): Grey {
  const { width, height } = grow(size, margins);
  const data = new Uint8Array(width * height);
  const band = Math.max(1, Math.min(seam, size.width / 4, size.height / 4));
  const depthOf = (at: number, length: number, [before, after]: readonly [number, number]): number => {
    const from = before > 0 ? at : Infinity;
    const to = after > 0 ? length - 1 - at : Infinity;
    return Math.min(from, to);
  };
  for (let y = 0; y < height; y++) {
    const down = depthOf(y - margins.top, size.height, [margins.top, margins.bottom]);
    for (let x = 0; x < width; x++) {
      const across = depthOf(x - margins.left, size.width, [margins.left, margins.right]);
      // Negative outside of the picture, which is all white.
      const depth = Math.min(down, across) + 1;
      data[y * width + x] = Math.round(255 * Math.max(0, Math.min(1, 1 - depth / (band + 1))));
    }
  }
  return { data, width, height };
}
