import sharp from "sharp";
import type { Grey, Size } from "./local/raster/grid.ts";
import { readGreyMask, writeSharp } from "./pictures.ts";

export interface Region extends Size {
  readonly left: number;
  readonly top: number;
}

/** How a region of a picture is sent to a server. */
export interface Canvas {
  /** The region, in pixels of the picture. */
  readonly region: Region;
  /** Size of the region as sent: never larger than the region. */
  readonly work: Size;
  /** `work` with a margin right and below, so that its sides fit the workflow. */
  readonly padded: Size;
}

export function roundUp({ width, height }: Size, multipleOf: number): Size {
  const up = (px: number) => Math.ceil(px / multipleOf) * multipleOf;
  return { width: up(width), height: up(height) };
}

export function isSameSize(a: Size, b: Size): boolean {
  return a.width === b.width && a.height === b.height;
}

/** About the size that models were trained with; above it they repeat patterns and graphics cards run out of memory. */
export const maxPixels = 1_600_000;

interface Paste {
  /** The whole original picture. */
  readonly picture: string;
  /** A byte per pixel; 0: must not change, 255: may change. */
  readonly mask: Grey;
  readonly canvas: Canvas;
  /** The server's picture of the canvas. */
  readonly result: string;
  readonly target: string;
}

/**
 * Blends a result into its picture, weighted by the mask: where the mask is black every pixel stays unchanged. A hard edge is
 * softened over a few pixels inside the mask, where the colours of a model would leave a step.
 */
export async function pasteResult({ picture, mask: given, canvas, result, target }: Paste): Promise<void> {
  const { region } = canvas;
  const mask = featherInside(given);
  const made = await readMade(result, canvas);
  const { data, info } = await sharp(picture, { limitInputPixels: false })
    .toColourspace("srgb")
    .raw({ depth: "uchar" })
    .toBuffer({ resolveWithObject: true });
  for (let y = 0; y < region.height; y++) {
    for (let x = 0; x < region.width; x++) {
      const at = (region.top + y) * info.width + region.left + x;
      const share = (mask.data[at] ?? 0) / 255;
      if (share > 0) blend(data, at * info.channels, { made, from: (y * region.width + x) * 3, share });
    }
  }
  const raw = { width: info.width, height: info.height, channels: info.channels };
  await writeSharp(sharp(data, { raw, limitInputPixels: false }).png(), target);
}

/** Blends a result of the whole picture into it, weighted by the mask; a turned one is set upright, one of another shape cut to fit. */
export async function pasteWhole({ picture, mask, result, target }: WholePaste): Promise<void> {
  const { width, height } = await sharp(picture, { limitInputPixels: false }).metadata();
  const size = { width, height };
  const fitted = `${target}.fitted.png`;
  await writeSharp(
    sharp(result, { limitInputPixels: false, autoOrient: true })
      .resize(width, height, { fit: "cover" })
      .png(),
    fitted,
  );
  const canvas = { region: { left: 0, top: 0, ...size }, work: size, padded: size };
  await pasteResult({ picture, mask: await readGreyMask(mask, size), canvas, result: fitted, target });
}

interface WholePaste {
  readonly picture: string;
  readonly mask: string;
  readonly result: string;
  readonly target: string;
}

/** RGB of the region's size, without the margin. */
async function readMade(result: string, { region, work, padded }: Canvas): Promise<Buffer> {
  const { data, info } = await sharp(result, { limitInputPixels: false })
    .toColourspace("srgb")
    .removeAlpha()
    .resize(padded.width, padded.height, { fit: "fill" })
    .extract({ left: 0, top: 0, ...work })
    .raw({ depth: "uchar" })
    .toBuffer({ resolveWithObject: true });
  const raw = { width: info.width, height: info.height, channels: info.channels };
  return sharp(data, { raw, limitInputPixels: false })
    .resize(region.width, region.height, { fit: "fill" })
    .raw()
    .toBuffer();
}

/** How far a hard edge is softened, in pixels. */
const featherPx = 3;

/**
 * A mask of two values with an edge that rises inside the marked area; thin strokes keep their full weight in the middle. A
 * mask with soft edges of its own is left as it is.
 */
export function featherInside(mask: Grey): Grey {
  const { data, width, height } = mask;
  if (data.some((value) => value !== 0 && value !== 255)) return mask;
  const depth = depthInside(mask);
  const feathered = new Uint8Array(data.length);
  for (let i = 0; i < data.length; i++) {
    const own = depth[i] ?? 0;
    if (own === 0) continue;
    const deepest = own > featherPx ? own : deepestNear({ depth, width, height }, i);
    feathered[i] = Math.round(255 * Math.min(1, own / Math.min(featherPx + 1, deepest)));
  }
  return { data: feathered, width, height };
}

/** Steps to the nearest pixel that is not marked, up to one more than the feather; the border of the picture is no edge. */
function depthInside({ data, width, height }: Grey): Uint8Array {
  let depth = data.map((value) => (value === 0 ? 0 : 1));
  for (let step = 1; step <= featherPx; step++) {
    const before = { depth, width, height };
    depth = depth.map((value, at) => (value === step && isInner(before, at) ? step + 1 : value));
  }
  return depth;
}

/** Whether no neighbour is less deep. */
function isInner({ depth, width, height }: Depths, at: number): boolean {
  const own = depth[at] ?? 0;
  const x = at % width;
  const isAsDeep = (other: number) => (depth[other] ?? 0) >= own;
  return (
    (x === 0 || isAsDeep(at - 1)) &&
    (x === width - 1 || isAsDeep(at + 1)) &&
    (at < width || isAsDeep(at - width)) &&
    (at >= width * (height - 1) || isAsDeep(at + width))
  );
}

interface Depths {
  readonly depth: Uint8Array;
  readonly width: number;
  readonly height: number;
}

/** The greatest depth within the feather's reach: that of the middle of a thin stroke. */
function deepestNear({ depth, width, height }: Depths, at: number): number {
  const [x, y] = [at % width, Math.floor(at / width)];
  let deepest = 0;
  for (let row = Math.max(0, y - featherPx); row <= Math.min(height - 1, y + featherPx); row++)
    for (let column = Math.max(0, x - featherPx); column <= Math.min(width - 1, x + featherPx); column++)
      deepest = Math.max(deepest, depth[row * width + column] ?? 0);
  return deepest;
}

interface Source {
  readonly made: Buffer;
  readonly from: number;
  readonly share: number;
}

function blend(data: Buffer, to: number, { made, from, share }: Source): void {
  for (let c = 0; c < 3; c++) {
    const old = data[to + c] ?? 0;
    data[to + c] = Math.round(old + ((made[from + c] ?? 0) - old) * share);
  }
}
