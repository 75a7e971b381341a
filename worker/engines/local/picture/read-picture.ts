import sharp from "sharp";
import { AppError } from "@atelier/server/platform";
import { byteAt } from "../raster/cells.ts";
import type { Grey, Rgb } from "../raster/grid.ts";

/** A decoded picture; `alpha` is there when the file has transparency. */
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
    throw new AppError("upload_unreadable", undefined, { cause });
  }
}
