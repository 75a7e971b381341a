import sharp from "sharp";
import { AppError } from "@atelier/server/platform";
import { isSameSize, type Size } from "./size.ts";

/** A byte per pixel; 0: stays as it is, 255: may change. */
export interface GreyMask extends Size {
  readonly data: Uint8Array;
}

/** Reads a mask file for a picture of `size`. Throws `mask_size`, `mask_empty`, `upload_unreadable`. */
export async function readMask(file: string, size: Size): Promise<GreyMask> {
  const { data, info } = await sharp(file, { limitInputPixels: false })
    .flatten({ background: "#000000" })
    .toColourspace("b-w")
    .extractChannel(0)
    .raw({ depth: "uchar" })
    .toBuffer({ resolveWithObject: true })
    .catch((cause: unknown) => {
      throw new AppError("upload_unreadable", undefined, { cause });
    });
  if (!isSameSize(info, size)) {
    const details = { mask: [info.width, info.height], picture: [size.width, size.height] };
    throw new AppError("mask_size", undefined, { details });
  }
  const mask = { data: new Uint8Array(data), width: info.width, height: info.height };
  if (mask.data.every((value) => value === 0)) throw new AppError("mask_empty");
  return mask;
}
