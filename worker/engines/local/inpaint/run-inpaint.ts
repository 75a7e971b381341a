import { makePreview } from "../picture/make-preview.ts";
import { readPicture, type Picture } from "../picture/read-picture.ts";
import { writeMask, writePng } from "../../pictures.ts";
import { areaOf, type Mask, type Rgb } from "../raster/grid.ts";
import { dilateDisc } from "../raster/dilate-disc.ts";
import { clamp } from "../raster/clamp.ts";
import { inputPath, type LocalRun, type RunContext } from "../run-context.ts";
import { chooseCrop, cut } from "./choose-crop.ts";
import { fillCrop } from "./run.ts";
import { pasteFill } from "./paste-fill.ts";
import { readMask } from "./read-mask.ts";

const matchShare = 0.9;

/**
 * Removes what is marked and fills the place from the rest of the picture. Every pixel outside the grown mask stays as it
 * was. Throws `mask_size`, `mask_empty`, `upload_unreadable`, `bad_request` when nearly everything is marked.
 */
export const runInpaint: LocalRun = async (task, context) => {
  const startedAt = performance.now();
  context.progress(0, "reading");
  const picture = await readPicture(inputPath(task, "image"));
  const marked = await readMask(inputPath(task, "mask"), picture);
  const radiusPx = clamp(Math.round(Math.max(picture.width, picture.height) / 200), 4, 8);
  // Grown, since people mark an object narrowly and its shadow and blur reach further.
  const mask = dilateDisc(marked, radiusPx);
  await removeMarked(picture, mask, context);
  context.progress(0.95, "writing");
  const path = await writePng(picture, task.workDir);
  if (task.maskPath) await writeMask(mask, task.maskPath);
  context.progress(1, "writing");
  const timeMs = Math.round(performance.now() - startedAt);
  return [{ path, mime: "image/png", facts: { maskPixels: areaOf(mask), radiusPx, timeMs } }];
};

async function removeMarked(picture: Picture, mask: Mask, context: RunContext): Promise<void> {
  const crop = chooseCrop(mask);
  const size = { width: crop.width, height: crop.height };
  const part: Rgb = { ...size, data: cut(picture.data, picture.width, { crop, channels: 3 }) };
  const hole: Mask = { ...size, data: cut(mask.data, mask.width, { crop, channels: 1 }) };
  context.progress(0.03, "match");
  const filled = await fillCrop(part, hole, {
    onStep: (fraction) => context.progress(0.03 + fraction * (matchShare - 0.03), "match"),
    onPicture: async (state) => context.preview(await makePreview(state)),
  });
  pasteFill(picture, filled, { crop, hole });
}
