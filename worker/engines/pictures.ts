import path from "node:path";
import sharp from "sharp";
import { byteAt } from "./local/raster/cells.ts";
import type { Grey, Mask } from "./local/raster/grid.ts";
import type { Picture } from "./local/picture/read-picture.ts";
import { writeSharp } from "./write-sharp.ts";

/** Writes `name` into `dir` and returns the path. */
export async function writePng(picture: Picture, dir: string, name = "result.png"): Promise<string> {
  const file = path.join(dir, name);
  const { width, height, alpha } = picture;
  const data = alpha ? interleave(picture, alpha) : picture.data;
  const raw = { width, height, channels: alpha ? 4 : 3 } as const;
  await writeSharp(sharp(data, { raw, limitInputPixels: false }).png(), file);
  return file;
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

function interleave(rgb: Picture, alpha: Grey): Uint8Array {
  const data = new Uint8Array(alpha.data.length * 4);
  for (let i = 0; i < alpha.data.length; i++) {
    data[i * 4] = byteAt(rgb.data, i * 3);
    data[i * 4 + 1] = byteAt(rgb.data, i * 3 + 1);
    data[i * 4 + 2] = byteAt(rgb.data, i * 3 + 2);
    data[i * 4 + 3] = byteAt(alpha.data, i);
  }
  return data;
}
