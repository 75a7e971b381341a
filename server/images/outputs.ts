import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { buffer } from "node:stream/consumers";
import { AppError, newId, orLate } from "../platform/index.ts";
import { markOf, signResult } from "../provenance/index.ts";
import type { Services } from "../services.ts";
import { openObject, putAll, removePrefix } from "../storage/index.ts";
import type { ImageFiles } from "./encode.ts";
import { type FilesPlan, makeFiles, planOutput, withFilePermit } from "./files.ts";
import {
  objectKey,
  outputKey,
  type StoredObject,
  type Variant,
  type StoredOutput,
  type StoreOutputInput,
  variantMime,
  variants,
} from "./image.ts";

/**
 * Stores the result of an engine: the original as PNG with the engine's pixels, but for a watermark where one is wanted, a
 * preview and a thumbnail, each with the mark of its origin. Inserts no row: the caller does, in the transaction that completes the job, and calls
 * `discardOutput` when that fails. Throws `engine_failed` when the file is no picture, `storage_unavailable`.
 */
export async function storeOutput(services: Services, input: StoreOutputInput): Promise<StoredOutput> {
  const id = input.id ?? newId();
  const mark = isMarkWanted(services, input) ? markOf(id) : null;
  const files = await withManifest(services, { ...input, id }, await makeOutputFiles({ ...input, mark }));
  const storageKey = outputKey(input);
  try {
    await putFiles(services, storageKey, files);
  } catch (error) {
    await discardOutput(services, storageKey);
    throw error;
  }
  return {
    id,
    storageKey,
    storedSha256: sha256(files.original),
    mime: files.mime,
    widthPx: files.widthPx,
    heightPx: files.heightPx,
    sizeBytes: files.original.length,
    thumbhash: files.thumbhash,
    nothingGenerated: input.nothingGenerated ?? false,
  };
}

/** A mask says that nothing outside of it is changed. */
function isMarkWanted(
  { config }: Pick<Services, "config">,
  { kind, nothingGenerated = false, inputFiles = {} }: StoreOutputInput,
): boolean {
  const isLimited = kind === "edit" && inputFiles.mask !== undefined;
  return config.provenance.watermark.includes(kind) && !nothingGenerated && !isLimited;
}

interface MarkedInput extends StoreOutputInput {
  readonly mark: number | null;
}

/** Before the hash is taken, so that every way out of the studio has the same signed file. */
async function withManifest(
  services: Services,
  input: StoreOutputInput & { readonly id: string },
  files: ImageFiles,
): Promise<ImageFiles> {
  const { id, jobId, kind, nothingGenerated = false, inputFiles = {} } = input;
  const original = await signResult(services, files.original, {
    id,
    jobId,
    kind,
    nothingGenerated,
    inputFiles,
    mime: files.mime,
    isMarked: files.isMarked ?? false,
    madeFile: { path: input.path, mime: input.mime },
    keyOf: (image) => objectKey(image, "original"),
  });
  return { ...files, original };
}

async function makeOutputFiles(input: MarkedInput): Promise<ImageFiles> {
  const { ownerId, path } = input;
  const planned = await withFilePermit({ ownerId, weight: "light" }, () => planResult(input));
  const { plan } = planned;
  return (
    planned.files ??
    withFilePermit({ ownerId, weight: "heavy" }, async () => makeFiles(await readFile(path), plan))
  );
}

interface Planned {
  readonly plan: FilesPlan;
  /** Null when the picture is heavy. */
  readonly files: ImageFiles | null;
}

async function planResult(input: MarkedInput): Promise<Planned> {
  const bytes = await readFile(input.path);
  const plan = await planOutput(bytes, input);
  return { plan, files: plan.weight === "light" ? await makeFiles(bytes, plan) : null };
}

/** The three files of a picture. */
export type StoredFiles = Pick<ImageFiles, "original" | "preview" | "thumbnail"> & { readonly mime: string };

type StoredWhole = StoredObject & Pick<StoredOutput, "storedSha256">;

/** What `putFiles` wrote. Throws `file_missing` also for a damaged one, `storage_unavailable`. */
export async function readFiles({ disk }: Pick<Services, "disk">, image: StoredWhole): Promise<StoredFiles> {
  const read = async (variant: Variant) => {
    const found = await openObject(disk, objectKey(image, variant));
    if (!found) throw new AppError("file_missing");
    return buffer(found.stream);
  };
  const [original, preview, thumbnail] = [
    await read("original"),
    await read("preview"),
    await read("thumbnail"),
  ];
  if (sha256(original) !== image.storedSha256 || preview.length === 0 || thumbnail.length === 0)
    throw new AppError("file_missing");
  return { original, preview, thumbnail, mime: image.mime };
}

/** Writes the three files of a picture below `storageKey`. Throws `storage_unavailable`. */
export async function putFiles(
  services: Pick<Services, "disk">,
  storageKey: string,
  files: StoredFiles,
): Promise<void> {
  const { mime } = files;
  const objects = variants.map((variant) => ({
    key: objectKey({ storageKey, mime }, variant),
    bytes: files[variant],
    mime: variantMime(mime, variant),
  }));
  await putAll(services.disk, objects);
}

/** How long a caller waits for the removal of results, which takes minutes with a silent store. */
const removalWaitMs = 1_000;

/**
 * Removes what `storeOutput` wrote. Never throws. Waits `removalWaitMs` at most, and the removal goes on: no key of a result
 * is written again.
 */
export async function discardOutput(
  services: Pick<Services, "disk" | "log">,
  ...storageKeys: readonly string[]
): Promise<void> {
  await orLate(discardObjects(services, storageKeys), removalWaitMs, () => undefined);
}

/** Removes the objects below these keys. Never throws: the sweep of orphan objects removes the rest. */
export async function discardObjects(
  services: Pick<Services, "disk" | "log">,
  storageKeys: readonly string[],
): Promise<void> {
  for (const storageKey of storageKeys) {
    try {
      await removePrefix(services.disk, storageKey);
    } catch (error) {
      services.log.warn({ err: error, storageKey }, "objects left to the orphan sweep");
    }
  }
}

/** Lower-case hex. */
export function sha256(bytes: Buffer): string {
  return createHash("sha256").update(bytes).digest("hex");
}
