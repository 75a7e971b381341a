import { readFile } from "node:fs/promises";
import { maxOutputPixels } from "../engines/index.ts";
import { newId } from "../platform/index.ts";
import { provenanceXmp } from "../safety/index.ts";
import type { Services } from "../services/index.ts";
import { withPngXmp } from "./containers/png-xmp.ts";
import { withDecodeSlot, withSpaceFor } from "./decode-slot.ts";
import { discardOutput } from "./discard-output.ts";
import type { ImageFiles } from "./make-files.ts";
import { outputKey } from "./object-keys.ts";
import { countOutputPixels, decodeOutput, openPixels } from "./pixels.ts";
import { putFiles, sha256 } from "./put-files.ts";
import { makeSmallFiles } from "./small-files.ts";
import type { StoredOutput, StoreOutputInput } from "./stored-image.ts";

/**
 * Stores what an engine made: the original as PNG with exactly the engine's pixels, a preview and a thumbnail, each with
 * the mark of its origin. Inserts no row: the caller does, in the transaction that completes the job, and calls
 * `discardOutput` when that fails. Throws `engine_failed` when the file is no picture, `storage_unavailable`.
 */
export async function storeOutput(services: Services, input: StoreOutputInput): Promise<StoredOutput> {
  const files = await withDecodeSlot(() => makeOutputFiles(input));
  const storageKey = outputKey(input);
  try {
    await putFiles(services, storageKey, files);
  } catch (error) {
    await discardOutput(services, storageKey);
    throw error;
  }
  return {
    id: newId(),
    storageKey,
    storedSha256: sha256(files.original),
    mime: files.mime,
    widthPx: files.widthPx,
    heightPx: files.heightPx,
    sizeBytes: files.original.length,
    thumbhash: files.thumbhash,
  };
}

async function makeOutputFiles(input: StoreOutputInput): Promise<ImageFiles> {
  const bytes = await readFile(input.path);
  return withSpaceFor(await countOutputPixels(bytes), () => encodeOutput(bytes, input));
}

async function encodeOutput(bytes: Buffer, { mime, kind }: StoreOutputInput): Promise<ImageFiles> {
  const pixels = await decodeOutput(bytes, maxOutputPixels);
  const xmp = provenanceXmp(kind);
  const [png, small] = await Promise.all([
    mime === "image/png" ? bytes : openPixels(pixels).png().toBuffer(),
    makeSmallFiles(pixels, xmp),
  ]);
  const { widthPx, heightPx } = pixels;
  return { original: withPngXmp(png, xmp), mime: "image/png", ...small, widthPx, heightPx };
}
