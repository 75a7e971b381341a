import path from "node:path";
import sharp from "sharp";
import { AppError, undecodedFile } from "@atelier/server/platform";
import {
  adjustBand,
  type Adjustments,
  type Band,
  bandsOf,
  type Crop,
  cropBand,
  planAdjust,
  rectOf,
  restoreBand,
  type Rgba,
} from "@atelier/server/retouch";
import type { EngineOutput, EngineTask } from "../port.ts";
import { readGreyMask, writeSharp } from "../pictures.ts";
import { inputPath, type LocalRun, type LocalStage, type RunContext } from "./run-context.ts";

const rowsAtOnce = 64;

/** The params of a kind. Safe cast: they were parsed when the job was submitted. */
const checked = <Params>({ params }: EngineTask) => params as Params;

/** Decodes a file to 8-bit sRGB with alpha. Throws `upload_unreadable` when it is no picture. */
async function readRgba(file: string): Promise<Rgba> {
  try {
    const { data, info } = await sharp(file, { limitInputPixels: false })
      .toColourspace("srgb")
      .ensureAlpha()
      .raw({ depth: "uchar" })
      .toBuffer({ resolveWithObject: true });
    return { data, width: info.width, height: info.height };
  } catch (cause) {
    throw await undecodedFile(file, "upload_unreadable", cause);
  }
}

/** Writes the PNG of a result, without an alpha channel where all of it is opaque. */
async function writeRgba({ data, width, height }: Rgba, { workDir }: EngineTask): Promise<EngineOutput> {
  const file = path.join(workDir, "result.png");
  const picture = sharp(data, { raw: { width, height, channels: 4 }, limitInputPixels: false });
  await writeSharp((isOpaque(data) ? picture.removeAlpha() : picture).png(), file);
  return { path: file, mime: "image/png" };
}

function isOpaque(data: Rgba["data"]): boolean {
  for (let at = 3; at < data.length; at += 4) if (data[at] !== 255) return false;
  return true;
}

/** Computes the bands of a picture and tells how far it is. A band may replace the rows that the next one no longer reads. */
function inBands(context: RunContext, height: number, stage: LocalStage, make: (band: Band) => void): void {
  for (const band of bandsOf(height, rowsAtOnce)) {
    make(band);
    context.progress(0.2 + (0.5 * (band.top + band.rows)) / height, stage);
  }
}

/** Light, contrast, saturation, temperature, sharpness. */
export const runAdjust: LocalRun = async (task, context) => {
  context.progress(0, "reading");
  const picture = await readRgba(inputPath(task, "image"));
  const plan = planAdjust(checked<Adjustments>(task));
  // Written one band late: the next one reads the last rows of this one as they were.
  let late: { at: number; made: Uint8ClampedArray } | null = null;
  const settle = () => late && picture.data.set(late.made, late.at);
  inBands(context, picture.height, "adjust", (band) => {
    const made = adjustBand(picture, plan, band);
    settle();
    late = { at: band.top * picture.width * 4, made };
  });
  settle();
  context.progress(0.7, "writing");
  return [await writeRgba(picture, task)];
};

/** Cuts a part out of a picture that was turned, mirrored and straightened. */
export const runCrop: LocalRun = async (task, context) => {
  context.progress(0, "reading");
  const picture = await readRgba(inputPath(task, "image"));
  const crop = checked<Crop>(task);
  const { width, height } = rectOf(picture, crop);
  const data = new Uint8Array(width * height * 4);
  inBands(context, height, "crop", (band) => data.set(cropBand(picture, crop, band), band.top * width * 4));
  context.progress(0.7, "writing");
  return [await writeRgba({ data, width, height }, task)];
};

/** Paints an earlier picture back where the mask says. Throws `mask_size`, `mask_empty`. */
export const runRestore: LocalRun = async (task, context) => {
  context.progress(0, "reading");
  const picture = await readRgba(inputPath(task, "image"));
  const base = await readRgba(inputPath(task, "base"));
  const mask = (await readGreyMask(inputPath(task, "mask"), picture)).data;
  if (base.width !== picture.width || base.height !== picture.height)
    throw new AppError("bad_request", "What is painted back must have the size of the picture.");
  inBands(context, picture.height, "restore", (band) =>
    picture.data.set(restoreBand({ picture, base, mask }, band), band.top * picture.width * 4),
  );
  context.progress(0.7, "writing");
  return [await writeRgba(picture, task)];
};
