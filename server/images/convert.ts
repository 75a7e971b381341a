import { Readable } from "node:stream";
import { buffer } from "node:stream/consumers";
import sharp from "sharp";
import { maxOutputPixels } from "../engines.ts";
import { newId } from "../platform/index.ts";
import { instanceIdOf, signCopy } from "../provenance/index.ts";
import type { Services } from "../services.ts";
import { webpSidePx } from "./encode.ts";
import { withFilePermit } from "./files.ts";
import type { AnswerFormat, Conversion, OwnImageInput } from "./image.ts";
import { sha256 } from "./outputs.ts";
import { type OpenedFile, openFile, type OpenFileInput } from "./serve.ts";

/** The format of a file by its first bytes; `png` for everything that is neither JPEG nor WebP. */
export function formatOf(bytes: Buffer): AnswerFormat {
  if (bytes.subarray(0, 3).equals(jpegStart)) return "jpeg";
  return bytes.toString("latin1", 8, 12) === "WEBP" ? "webp" : "png";
}

const jpegStart = Buffer.from([0xff, 0xd8, 0xff]);

interface How extends Omit<Conversion, "format"> {
  /** Aborting stops before the next step. */
  readonly signal?: AbortSignal | undefined;
}

/**
 * The original of an own picture in a format, with its mark of origin; one that is right as it is stays so. Throws `not_found`,
 * `file_missing`, `storage_unavailable`.
 */
export async function readAs(
  services: Services,
  own: OwnImageInput,
  format: AnswerFormat,
  how: How = {},
): Promise<Buffer<ArrayBuffer>> {
  const { headers } = await openFile(services, { ...own, variant: "original", isHead: true });
  const isRight = headers["content-type"] === `image/${format}`;
  if (isRight && how.quality === undefined && how.longestPx === undefined) return readOriginal(services, own);
  // Read in its turn: what waits holds no picture in memory.
  const { bytes, encoded } = await withFilePermit({ ownerId: own.ownerId, weight: "heavy" }, async () => {
    how.signal?.throwIfAborted();
    const original = await readOriginal(services, own);
    return { bytes: original, encoded: await encodeAs(original, { ...how, format }) };
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

/**
 * As `openFile` opens the original, but as it is asked for: never by a link, and of a HEAD without its length, since the file
 * is made when it is read. Throws what `readAs` throws.
 */
export async function openAs(
  services: Services,
  input: Omit<OpenFileInput, "variant"> & Pick<How, "signal">,
  as: Conversion,
): Promise<OpenedFile> {
  const opened = await openFile(services, { ...input, as, variant: "original", isHead: true });
  const { "content-length": _ofOriginal, ...headers } = opened.headers;
  if (opened.isCurrent || input.isHead) return { ...opened, headers };
  // The original itself is read here, whatever the client holds or may be led to.
  const own = { id: input.id, ownerId: input.ownerId };
  const bytes = await readAs(services, own, as.format, { ...as, signal: input.signal });
  const body = Readable.from([bytes], { objectMode: false });
  return { ...opened, headers: { ...headers, "content-length": String(bytes.length) }, body };
}

async function readOriginal(services: Services, own: OwnImageInput): Promise<Buffer<ArrayBuffer>> {
  const { body } = await openFile(services, { ...own, variant: "original" });
  return body ? buffer(body) : Buffer.alloc(0);
}

/** Transparency is white in a JPEG, which has none. */
function encodeAs(bytes: Buffer, { format, quality, longestPx }: Conversion): Promise<Buffer<ArrayBuffer>> {
  const whole = sharp(bytes, { limitInputPixels: maxOutputPixels }).keepMetadata();
  const sidePx = Math.min(longestPx ?? Infinity, format === "webp" ? webpSidePx : Infinity);
  const picture =
    sidePx === Infinity ? whole : whole.resize(sidePx, sidePx, { fit: "inside", withoutEnlargement: true });
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
