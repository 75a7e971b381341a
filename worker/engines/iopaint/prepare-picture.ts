import sharp from "sharp";
import { AppError } from "@atelier/server/platform";

export interface SentPicture {
  readonly png: Buffer;
  readonly width: number;
  readonly height: number;
}

/** The picture as PNG: the server answers in the format that it was sent, and this one loses nothing. */
export async function preparePicture(file: string): Promise<SentPicture> {
  try {
    const { data, info } = await sharp(file, { limitInputPixels: false })
      .toColourspace("srgb")
      .png({ compressionLevel: 3 })
      .toBuffer({ resolveWithObject: true });
    return { png: data, width: info.width, height: info.height };
  } catch (cause) {
    throw new AppError("upload_unreadable", undefined, { cause });
  }
}
