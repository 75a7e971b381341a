import sharp from "sharp";
import { AppError } from "@atelier/server/platform";
import { byteAt } from "../raster/cells.ts";
import type { Mask, Rgb } from "../raster/grid.ts";
import { fillHole } from "./fill.ts";
import type { Level } from "./level.ts";

/** The search runs on at most so many pixels; a larger part is worked on at a smaller scale. */
const mostWorkPixels = 1_000_000;

interface FillEvents {
  onStep(fraction: number): void;
  onPicture(picture: Rgb): Promise<void>;
}

/** Returns `part` with the masked pixels filled, at its own size. Throws `bad_request` when all of it is masked. */
export async function fillCrop(part: Rgb, hole: Mask, events: FillEvents): Promise<Rgb> {
  const scale = Math.min(1, Math.sqrt(mostWorkPixels / (part.width * part.height)));
  const level = scale < 1 ? await shrink(part, hole, scale) : levelOf(part, hole.data);
  const isFilled = await fillHole(level, {
    onStep: (fraction) => events.onStep(fraction),
    onLevel: (state) => events.onPicture(rgbOf(state)),
  });
  if (!isFilled) {
    throw new AppError("bad_request", "Too much is marked: leave part of the picture to fill the hole from.");
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
