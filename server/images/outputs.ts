import { readFile } from "node:fs/promises";
import { newId } from "../platform/index.ts";
import type { Services } from "../services/index.ts";
import { takeDecodeTurn } from "./decode-slot.ts";
import { discardOutput } from "./discard-output.ts";
import type { ImageFiles } from "./encode.ts";
import { makeFiles, planOutput, type FilesPlan } from "./files.ts";
import { outputKey } from "./object-keys.ts";
import { putFiles, sha256 } from "./put-files.ts";
import type { StoredOutput, StoreOutputInput } from "./image.ts";

/**
 * Stores what an engine made: the original as PNG with exactly the engine's pixels, a preview and a thumbnail, each with
 * the mark of its origin. Inserts no row: the caller does, in the transaction that completes the job, and calls
 * `discardOutput` when that fails. Throws `engine_failed` when the file is no picture, `storage_unavailable`.
 */
export async function storeOutput(services: Services, input: StoreOutputInput): Promise<StoredOutput> {
  const files = await makeOutputFiles(input);
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
  const { ownerId, path } = input;
  const planned = await takeDecodeTurn({ ownerId, weight: "light" }, () => planResult(input));
  const { plan } = planned;
  return (
    planned.files ??
    takeDecodeTurn({ ownerId, weight: "heavy" }, async () => makeFiles(await readFile(path), plan))
  );
}

interface Planned {
  readonly plan: FilesPlan;
  /** Null when the picture is heavy. */
  readonly files: ImageFiles | null;
}

async function planResult(input: StoreOutputInput): Promise<Planned> {
  const bytes = await readFile(input.path);
  const plan = await planOutput(bytes, input);
  return { plan, files: plan.weight === "light" ? await makeFiles(bytes, plan) : null };
}
