import sharp from "sharp";
import { maxOutputPixels } from "@atelier/server/engines";
import { AppError } from "@atelier/server/platform";

/** What a server made, decoded: 8-bit sRGB with or without transparency. */
export interface Result {
  readonly data: Uint8Array;
  readonly width: number;
  readonly height: number;
  readonly channels: 3 | 4;
}

/** Decodes the whole picture, so that a damaged one is found here. Throws `engine_failed`, also for another size. */
export async function readResult(
  bytes: Buffer,
  expected: { readonly width: number; readonly height: number },
): Promise<Result> {
  const { data, info } = await sharp(bytes, { failOn: "error", limitInputPixels: maxOutputPixels })
    .toColourspace("srgb")
    .raw({ depth: "uchar" })
    .toBuffer({ resolveWithObject: true })
    .catch((cause: unknown) => {
      throw new AppError("engine_failed", "The server's answer is no picture.", { cause });
    });
  const { width, height, channels } = info;
  if (width !== expected.width || height !== expected.height)
    throw new AppError("engine_failed", "The server's picture has another size than was asked for.", {
      details: { got: [width, height], expected: [expected.width, expected.height] },
    });
  return { data, width, height, channels: channels === 4 ? 4 : 3 };
}
