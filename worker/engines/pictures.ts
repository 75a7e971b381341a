import { writeFile } from "node:fs/promises";
import path from "node:path";
import sharp, { type Sharp } from "sharp";
import { AppError, undecodedFile } from "@atelier/server/platform";
import { byteAt, type Grey, type Mask, maskWhere, type Rgb, type Size } from "./local/raster/grid.ts";

/** A decoded picture; `alpha` is set when the file has transparency. */
export interface Picture extends Rgb {
  readonly alpha?: Grey;
}

/** Decodes a file to 8-bit sRGB. Throws `upload_unreadable` when it is no picture. */
export async function readPicture(file: string): Promise<Picture> {
  const { data, info } = await decode(file);
  const { width, height, channels } = info;
  if (channels === 3) return { data, width, height };
  const rgb = new Uint8Array(width * height * 3);
  const alpha = new Uint8Array(width * height);
  for (let i = 0; i < alpha.length; i++) {
    rgb[i * 3] = byteAt(data, i * 4);
    rgb[i * 3 + 1] = byteAt(data, i * 4 + 1);
    rgb[i * 3 + 2] = byteAt(data, i * 4 + 2);
    alpha[i] = byteAt(data, i * 4 + 3);
  }
  return { data: rgb, width, height, alpha: { data: alpha, width, height } };
}

async function decode(file: string) {
  try {
    const { data, info } = await sharp(file, { limitInputPixels: false })
      .toColourspace("srgb")
      .raw({ depth: "uchar" })
      .toBuffer({ resolveWithObject: true });
    return { data: new Uint8Array(data.buffer, data.byteOffset, data.length), info };
  } catch (cause) {
    throw await undecodedFile(file, "upload_unreadable", cause);
  }
}

/** A copy for analysis, whose longer side is `sidePx`, with transparent pixels on white. */
export async function workCopy(picture: Picture, sidePx: number): Promise<Rgb> {
  const flat = flatten(picture);
  const { width, height } = picture;
  const { data, info } = await sharp(flat, { raw: { width, height, channels: 3 }, limitInputPixels: false })
    .resize(sidePx, sidePx, { fit: "inside" })
    .raw()
    .toBuffer({ resolveWithObject: true });
  return { data: new Uint8Array(data), width: info.width, height: info.height };
}

function flatten({ data, alpha }: Picture): Uint8Array {
  if (!alpha) return data;
  return data.map((value, i) => {
    const share = byteAt(alpha.data, Math.floor(i / 3)) / 255;
    return Math.round(value * share + 255 * (1 - share));
  });
}

/** From this grey value on a pixel of a mask is marked. */
const leastMarkedGrey = 128;

/**
 * Reads a mask file (white = change) for a picture of `size`, with its soft edges. Throws `mask_size`, `mask_empty` when no
 * pixel is marked, `upload_unreadable`.
 */
export async function readGreyMask(file: string, size: Size): Promise<Grey> {
  const { data, info } = await sharp(file, { limitInputPixels: false })
    .flatten({ background: "#000000" })
    .toColourspace("b-w")
    .extractChannel(0)
    .raw({ depth: "uchar" })
    .toBuffer({ resolveWithObject: true })
    .catch(async (cause: unknown) => {
      throw await undecodedFile(file, "upload_unreadable", cause);
    });
  if (info.width !== size.width || info.height !== size.height) {
    const details = { mask: [info.width, info.height], picture: [size.width, size.height] };
    throw new AppError("mask_size", undefined, { details });
  }
  const grey = new Uint8Array(data);
  if (!grey.some((value) => value >= leastMarkedGrey)) throw new AppError("mask_empty");
  return { data: grey, width: size.width, height: size.height };
}

/** Reads a mask file as `readGreyMask` does; each pixel is marked or not. */
export async function readMask(file: string, size: Size): Promise<Mask> {
  const { data } = await readGreyMask(file, size);
  return maskWhere(size, (i) => byteAt(data, i) >= leastMarkedGrey);
}

interface Marked {
  /** A byte per pixel, row by row; every value but 0 is marked. */
  readonly data: Uint8Array;
  readonly width: number;
  readonly height: number;
}

/** Smallest rectangle around the marked pixels. The mask must not be empty. */
export function maskBounds({ data, width, height }: Marked) {
  let [left, right, top, bottom] = [width, -1, height, -1];
  for (let i = 0; i < data.length; i++) {
    if (data[i] === 0) continue;
    const x = i % width;
    const y = Math.floor(i / width);
    if (x < left) left = x;
    if (x > right) right = x;
    if (y < top) top = y;
    if (y > bottom) bottom = y;
  }
  return { left, top, width: right - left + 1, height: bottom - top + 1 };
}

/** Like `toFile`, but a full disk fails with the system's error code; sharp reports it only in a message. */
export async function writeSharp(picture: Sharp, file: string): Promise<void> {
  await writeFile(file, await picture.toBuffer());
}

/** Writes `name` into `dir` and returns the path. */
export async function writePng(picture: Picture, dir: string, name = "result.png"): Promise<string> {
  const file = path.join(dir, name);
  const { width, height, alpha } = picture;
  const data = alpha ? interleave(picture, alpha) : picture.data;
  const raw = { width, height, channels: alpha ? 4 : 3 } as const;
  await writeSharp(sharp(data, { raw, limitInputPixels: false }).png(), file);
  return file;
}

function interleave(rgb: Picture, alpha: Grey): Uint8Array {
  const data = new Uint8Array(alpha.data.length * 4);
  for (let i = 0; i < alpha.data.length; i++) {
    const share = byteAt(alpha.data, i);
    // A cut-out must not hold what was cut away.
    for (let c = 0; c < 3; c++) data[i * 4 + c] = share === 0 ? 255 : byteAt(rgb.data, i * 3 + c);
    data[i * 4 + 3] = share;
  }
  return data;
}

/** Writes a mask as grey PNG, white where it is set. */
export async function writeMask(mask: Mask, file: string): Promise<void> {
  const { width, height } = mask;
  const raw = { width, height, channels: 1 } as const;
  const grey = sharp(
    mask.data.map((value) => value * 255),
    { raw, limitInputPixels: false },
  );
  await writeSharp(grey.toColourspace("b-w").png(), file);
}

/**
 * Gives a result the transparency of its source, enlarged with it: models and most servers drop it. A result that has some
 * of its own keeps that.
 */
export async function keepTransparency(source: string, result: string): Promise<void> {
  const { hasAlpha } = await sharp(source, { limitInputPixels: false }).metadata();
  if (!hasAlpha) return;
  const made = sharp(result, { limitInputPixels: false });
  const { width, height, hasAlpha: hasOwn } = await made.metadata();
  if (hasOwn && !(await made.stats()).isOpaque) return;
  const alpha = await sharp(source, { limitInputPixels: false })
    .extractChannel("alpha")
    .resize(width, height, { fit: "fill" })
    .raw({ depth: "uchar" })
    .toBuffer();
  const { data } = await sharp(result, { limitInputPixels: false })
    .toColourspace("srgb")
    .removeAlpha()
    .raw({ depth: "uchar" })
    .toBuffer({ resolveWithObject: true });
  const size = { width, height };
  const picture = { data, ...size, alpha: { data: alpha, ...size } };
  await writePng(picture, path.dirname(result), path.basename(result));
}

/** Sides of a stored picture. Throws `upload_unreadable`. */
export async function readSize(file: string): Promise<Size> {
  try {
    const { width, height } = await sharp(file, { limitInputPixels: false }).metadata();
    return { width, height };
  } catch (cause) {
    throw await undecodedFile(file, "upload_unreadable", cause);
  }
}

/** Whitens what is wholly transparent in a file: a cut-out must not hold what was cut away. */
export async function forgetHidden(file: string): Promise<void> {
  const { hasAlpha } = await sharp(file, { limitInputPixels: false }).metadata();
  if (hasAlpha) await writePng(await readPicture(file), path.dirname(file), path.basename(file));
}

const previewSidePx = 384;

/** A small JPEG of an unfinished picture. */
export function makePreview({ data, width, height }: Rgb): Promise<Uint8Array> {
  return encodePreview(sharp(data, { raw: { width, height, channels: 3 }, limitInputPixels: false }));
}

/** A picture in the size and form of all previews; white shows through what is transparent. */
export function encodePreview(picture: Sharp): Promise<Uint8Array> {
  return picture
    .resize(previewSidePx, previewSidePx, { fit: "inside", withoutEnlargement: true })
    .flatten({ background: "#ffffff" })
    .jpeg({ quality: 70 })
    .toBuffer();
}
