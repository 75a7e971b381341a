import sharp from "sharp";
import { AppError } from "@atelier/server/platform";
import {
  makePreview,
  maskBounds,
  type Picture,
  readMask,
  readPicture,
  writeMask,
  writePng,
} from "../../pictures.ts";
import { inputPath, type LocalRun, type RunContext } from "../run-context.ts";
import { boxBlur, dilateDisc } from "../raster/filters.ts";
import { areaOf, byteAt, clamp, floatAt, type Mask, planeOf, type Rgb } from "../raster/grid.ts";
import { fillHole } from "./fill.ts";
import type { Level } from "./patch-match.ts";

interface Crop {
  readonly left: number;
  readonly top: number;
  readonly width: number;
  readonly height: number;
}

const minMarginPx = 96;
/** Margin around the hole as a share of the hole's longer side: enough picture to copy from. */
const marginShare = 1;

/** The region of the picture that a fill of `mask` reads. The mask must not be empty. */
function chooseCrop(mask: Mask): Crop {
  const hole = maskBounds(mask);
  const margin = Math.max(minMarginPx, Math.round(marginShare * (Math.max(hole.width, hole.height) - 1)));
  const left = Math.max(0, hole.left - margin);
  const top = Math.max(0, hole.top - margin);
  return {
    left,
    top,
    width: Math.min(mask.width, hole.left + hole.width + margin) - left,
    height: Math.min(mask.height, hole.top + hole.height + margin) - top,
  };
}

/** Cuts `crop` out of interleaved cells with `channels` per pixel. */
function cut(cells: Uint8Array, widthPx: number, { crop, channels }: { crop: Crop; channels: number }) {
  const part = new Uint8Array(crop.width * crop.height * channels);
  for (let row = 0; row < crop.height; row++) {
    const from = ((crop.top + row) * widthPx + crop.left) * channels;
    part.set(cells.subarray(from, from + crop.width * channels), row * crop.width * channels);
  }
  return part;
}

const featherPx = 2;

/** Writes the filled part into `picture`, faded in over the rim of the hole; pixels outside the hole are not touched. */
function pasteFill(picture: Rgb, filled: Rgb, { crop, hole }: { crop: Crop; hole: Mask }): void {
  const inside = boxBlur(planeOf(hole), featherPx, 1);
  for (let i = 0; i < hole.data.length; i++) {
    if (!byteAt(hole.data, i)) continue;
    const share = clamp((floatAt(inside.data, i) - 0.5) * 2.5, 0, 1);
    const x = crop.left + (i % crop.width);
    const to = ((crop.top + Math.floor(i / crop.width)) * picture.width + x) * 3;
    for (let c = 0; c < 3; c++) {
      const old = byteAt(picture.data, to + c);
      picture.data[to + c] = Math.round(old + (byteAt(filled.data, i * 3 + c) - old) * share);
    }
  }
}

/** The search runs on at most this many pixels; a larger region is scaled down. */
const maxWorkPixels = 1_000_000;

interface FillEvents {
  onStep(fraction: number): void;
  onPicture(picture: Rgb): Promise<void>;
}

/** Returns `part` with the masked pixels filled, at its own size. Throws `bad_request` when all of it is masked. */
async function fillCrop(part: Rgb, hole: Mask, events: FillEvents): Promise<Rgb> {
  const scale = Math.min(1, Math.sqrt(maxWorkPixels / (part.width * part.height)));
  const level = scale < 1 ? await shrink(part, hole, scale) : levelOf(part, hole.data);
  const isFilled = await fillHole(level, {
    onStep: (fraction) => events.onStep(fraction),
    onLevel: (state) => events.onPicture(rgbOf(state)),
  });
  if (!isFilled) {
    throw new AppError("bad_request", "Too much is marked. Leave more of the picture unmarked.");
  }
  const filled = rgbOf(level);
  return scale < 1 ? resize(filled, part) : filled;
}

function levelOf(rgb: Rgb, mask: Uint8Array): Level {
  return { image: Float32Array.from(rgb.data), mask, width: rgb.width, height: rgb.height };
}

function rgbOf({ image, width, height }: Level): Rgb {
  return { data: new Uint8Array(Uint8ClampedArray.from(image).buffer), width, height };
}

async function shrink(part: Rgb, hole: Mask, scale: number): Promise<Level> {
  const size = { width: Math.round(part.width * scale), height: Math.round(part.height * scale) };
  const small = await resize(part, size);
  const mask = new Uint8Array(size.width * size.height);
  // A small pixel is unknown when any of its large ones is.
  for (let i = 0; i < hole.data.length; i++) {
    if (!byteAt(hole.data, i)) continue;
    const x = Math.min(size.width - 1, Math.floor((i % hole.width) * scale));
    const y = Math.min(size.height - 1, Math.floor(Math.floor(i / hole.width) * scale));
    mask[y * size.width + x] = 1;
  }
  return levelOf(small, mask);
}

async function resize({ data, width, height }: Rgb, size: { width: number; height: number }): Promise<Rgb> {
  const bytes = await sharp(data, { raw: { width, height, channels: 3 }, limitInputPixels: false })
    .resize(size.width, size.height, { fit: "fill", kernel: "cubic" })
    .raw()
    .toBuffer();
  return { data: new Uint8Array(bytes), width: size.width, height: size.height };
}

const matchShare = 0.9;

/**
 * Removes the marked pixels and fills them from the rest of the picture. Every pixel outside the grown mask stays
 * unchanged. Throws `mask_size`, `mask_empty`, `upload_unreadable`, `bad_request` when nearly everything is marked.
 */
export const runInpaint: LocalRun = async (task, context) => {
  const startedAt = performance.now();
  context.progress(0, "reading");
  const picture = await readPicture(inputPath(task, "image"));
  const marked = await readMask(inputPath(task, "mask"), picture);
  const radiusPx = clamp(Math.round(Math.max(picture.width, picture.height) / 200), 4, 8);
  // Grown, since users mark objects tightly, and shadow and blur reach further.
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
