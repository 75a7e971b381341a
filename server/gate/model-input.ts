import sharp from "sharp";
import { pictureLimits } from "../platform/picture-limits.ts";

const scaledPx = 256;
export const sidePx = 224;
const jpegQuality = 75;
/** Of the pictures that the model was made with, in the order of its channels. */
const meanBgr = [104, 117, 123] as const;

/**
 * A picture, upright, as the model wants it (float32, height × width × 3, blue first, less the means): squeezed to 256 px, through a JPEG as
 * its makers had it, and the 224 px in the middle. Transparency and profiles are left out, as its makers' reader does.
 */
export async function toModelInput(picture: string | Buffer): Promise<Float32Array> {
  const limitInputPixels = pictureLimits.outputMegapixels * 1_000_000;
  const jpeg = await sharp(picture, { limitInputPixels, ignoreIcc: true, autoOrient: true })
    .removeAlpha()
    .toColourspace("srgb")
    .resize(scaledPx, scaledPx, { fit: "fill", kernel: "linear", fastShrinkOnLoad: false })
    .jpeg({ quality: jpegQuality })
    .toBuffer();
  const edge = (scaledPx - sidePx) / 2;
  const rgb = await sharp(jpeg)
    .extract({ left: edge, top: edge, width: sidePx, height: sidePx })
    .raw()
    .toBuffer();
  return Float32Array.from(rgb, (_, at) => (rgb[at - (at % 3) + 2 - (at % 3)] ?? 0) - (meanBgr[at % 3] ?? 0));
}
