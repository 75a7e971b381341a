import { buffer } from "node:stream/consumers";
import sharp from "sharp";
import { maxOutputPixels } from "../engines.ts";
import { newId } from "../platform/index.ts";
import { instanceIdOf, signCopy } from "../provenance/index.ts";
import type { Services } from "../services.ts";
import { withFilePermit } from "./files.ts";
import type { OwnImageInput } from "./image.ts";
import { sha256 } from "./outputs.ts";
import { openFile } from "./serve.ts";

/** A format that a picture can be asked for in. */
export type AnswerFormat = "jpeg" | "png" | "webp";

/** The format of a file by its first bytes; `png` for everything that is neither JPEG nor WebP. */
export function formatOf(bytes: Buffer): AnswerFormat {
  if (bytes.subarray(0, 3).equals(jpegStart)) return "jpeg";
  return bytes.toString("latin1", 8, 12) === "WEBP" ? "webp" : "png";
}

const jpegStart = Buffer.from([0xff, 0xd8, 0xff]);

/**
 * The original of an own picture in a format, with its mark of origin. `quality` 1..100 is for JPEG and WebP, which is
 * lossless without it. Throws `not_found`, `file_missing`,
 * `storage_unavailable`.
 */
export async function readAs(
  services: Services,
  own: OwnImageInput,
  format: AnswerFormat,
  quality?: number,
): Promise<Buffer<ArrayBuffer>> {
  const { headers } = await openFile(services, { ...own, variant: "original", isHead: true });
  if (headers["content-type"] === `image/${format}` && quality === undefined)
    return readOriginal(services, own);
  // Read in its turn: what waits holds no picture in memory.
  const { bytes, encoded } = await withFilePermit({ ownerId: own.ownerId, weight: "heavy" }, async () => {
    const original = await readOriginal(services, own);
    return { bytes: original, encoded: await encodeAs(original, format, quality) };
  });
  return signCopy(services, encoded, {
    instanceId: instanceIdOf(newId()),
    mime: `image/${format}`,
    action: "c2pa.transcoded",
    source: {
      bytes,
      mime: headers["content-type"] ?? "",
      instanceId: instanceIdOf(own.id),
      sha256: sha256(bytes),
    },
  });
}

async function readOriginal(services: Services, own: OwnImageInput): Promise<Buffer<ArrayBuffer>> {
  const { body } = await openFile(services, { ...own, variant: "original" });
  return body ? buffer(body) : Buffer.alloc(0);
}

function encodeAs(bytes: Buffer, format: AnswerFormat, quality?: number): Promise<Buffer<ArrayBuffer>> {
  const picture = sharp(bytes, { limitInputPixels: maxOutputPixels }).keepMetadata();
  switch (format) {
    case "jpeg":
      return picture
        .flatten({ background: "#ffffff" })
        .jpeg({ quality: quality ?? 95, chromaSubsampling: "4:4:4" })
        .toBuffer();
    case "webp":
      return picture.webp(quality === undefined ? { lossless: true, effort: 2 } : { quality }).toBuffer();
    case "png":
      return picture.png().toBuffer();
  }
}
