import sharp from "sharp";
import { AppError } from "@atelier/server/platform";
import { maskWhere, type Mask, type Size } from "../raster/grid.ts";
import { byteAt } from "../raster/cells.ts";

/** Reads a mask file (white = change) for a picture of `size`. Throws `mask_size`, `mask_empty`, `upload_unreadable`. */
export async function readMask(file: string, size: Size): Promise<Mask> {
  const { data, info } = await sharp(file, { limitInputPixels: false })
    .flatten({ background: "#000000" })
    .toColourspace("b-w")
    .raw({ depth: "uchar" })
    .toBuffer({ resolveWithObject: true })
    .catch((cause: unknown) => {
      throw new AppError("upload_unreadable", undefined, { cause });
    });
  if (info.width !== size.width || info.height !== size.height) {
    const details = { mask: [info.width, info.height], picture: [size.width, size.height] };
    throw new AppError("mask_size", undefined, { details });
  }
  const mask = maskWhere(size, (i) => byteAt(data, i * info.channels) >= 128);
  if (!mask.data.includes(1)) throw new AppError("mask_empty");
  return mask;
}
