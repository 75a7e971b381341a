import sharp from "sharp";
import { AppError } from "@atelier/server/platform";
import type { Size } from "./size.ts";

/** Sides of a stored picture. Throws `upload_unreadable`. */
export async function readSize(file: string): Promise<Size> {
  try {
    const { width, height } = await sharp(file, { limitInputPixels: false }).metadata();
    return { width, height };
  } catch (cause) {
    throw new AppError("upload_unreadable", undefined, { cause });
  }
}
