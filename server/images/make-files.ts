import type { Container } from "./containers/container.ts";
import { withSpaceFor } from "./decode-slot.ts";
import { inspect } from "./inspect.ts";
import { decodeMask, decodePhoto, openPixels, type Pixels } from "./pixels.ts";
import { makeSmallFiles, type SmallFiles } from "./small-files.ts";
import type { StoredMime } from "./stored-image.ts";

/** Every file of one picture, ready to be stored. */
export interface ImageFiles extends SmallFiles {
  readonly original: Buffer;
  readonly mime: StoredMime;
  readonly widthPx: number;
  readonly heightPx: number;
}

/**
 * Turns the bytes of an upload into the files that are stored: checked, decoded once, turned upright, in sRGB, without
 * metadata. Touches neither store nor database. Throws the codes `upload_*`.
 */
export async function makeUploadFiles(bytes: Buffer): Promise<ImageFiles> {
  const container = await inspect(bytes);
  return withSpaceFor(container.widthPx * container.heightPx, async () => {
    const pixels = await decodePhoto(bytes);
    const [original, small] = await Promise.all([encodeOriginal(pixels, container), makeSmallFiles(pixels)]);
    return { ...original, ...small, widthPx: pixels.widthPx, heightPx: pixels.heightPx };
  });
}

/** The same for a mask: one grey channel, lossless, white = change. */
export async function makeMaskFiles(bytes: Buffer): Promise<ImageFiles> {
  const container = await inspect(bytes);
  return withSpaceFor(container.widthPx * container.heightPx, async () => {
    const pixels = await decodeMask(bytes);
    const [original, small] = await Promise.all([encodeGrey(pixels), makeSmallFiles(pixels)]);
    return { original, mime: "image/png", ...small, widthPx: pixels.widthPx, heightPx: pixels.heightPx };
  });
}

/** The longest side that WebP can hold; AVIF holds longer ones. */
const webpSidePx = 16_383;

interface Original {
  readonly original: Buffer;
  readonly mime: StoredMime;
}

async function encodeOriginal(pixels: Pixels, container: Container): Promise<Original> {
  const picture = openPixels(pixels);
  if (Math.max(pixels.widthPx, pixels.heightPx) > webpSidePx && container.format !== "jpeg")
    return { original: await picture.png().toBuffer(), mime: "image/png" };
  switch (container.format) {
    case "jpeg":
      return {
        original: await picture.jpeg({ quality: 93, chromaSubsampling: "4:4:4" }).toBuffer(),
        mime: "image/jpeg",
      };
    case "png":
      return { original: await picture.png().toBuffer(), mime: "image/png" };
    case "webp":
    case "avif": {
      const options = container.isLossless ? { lossless: true, exact: true } : { quality: 93 };
      return { original: await picture.webp(options).toBuffer(), mime: "image/webp" };
    }
  }
}

function encodeGrey(pixels: Pixels): Promise<Buffer> {
  return openPixels(pixels).toColourspace("b-w").png().toBuffer();
}
