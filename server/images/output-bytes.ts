import sharp from "sharp";
import { undecoded } from "../platform/undecoded.ts";
import { withoutBombs } from "./formats/png-texts.ts";

/** An engine's file as a decoder may get it (`withoutBombs`). Throws `engine_failed` for a damaged one. */
export function disarmOutput(bytes: Buffer): Buffer {
  try {
    return withoutBombs(bytes);
  } catch (cause) {
    throw undecoded("engine_failed", cause);
  }
}

/** The pixel count in the header of an engine's file; nothing is decoded. Throws `engine_failed` when it is no picture. */
export async function countOutputPixels(bytes: Buffer): Promise<number> {
  try {
    const { width, height } = await sharp(withoutBombs(bytes), { limitInputPixels: false }).metadata();
    return width * height;
  } catch (cause) {
    throw undecoded("engine_failed", cause);
  }
}
