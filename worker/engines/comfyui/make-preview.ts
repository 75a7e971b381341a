import sharp from "sharp";

const previewSidePx = 384;
const limitInputPixels = 4_096 * 4_096;
const previewFormats = new Set(["png", "jpeg", "webp"]);

/** A small JPEG of what a server sent; null when that is no picture. Its bytes go to browsers, so they are made anew. */
export async function makePreview(bytes: Uint8Array): Promise<Uint8Array | null> {
  try {
    const picture = sharp(bytes, { limitInputPixels });
    if (!previewFormats.has((await picture.metadata()).format)) return null;
    return await picture
      .resize(previewSidePx, previewSidePx, { fit: "inside", withoutEnlargement: true })
      .flatten({ background: "#ffffff" })
      .jpeg({ quality: 70 })
      .toBuffer();
  } catch {
    return null;
  }
}
