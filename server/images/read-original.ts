import { createWriteStream } from "node:fs";
import type { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { AppError } from "../platform/index.ts";
import type { Services } from "../services/index.ts";
import { findObject, storageFailure } from "../storage/index.ts";
import { objectKey } from "./object-keys.ts";
import type { StoredOriginal } from "./image.ts";

type Reading = Pick<Services, "disk" | "log">;

/** Throws `input_missing` when the stored original is gone or not as long as its row says, `storage_unavailable`. */
export async function requireOriginal({ disk, log }: Reading, image: StoredOriginal): Promise<void> {
  const key = objectKey(image, "original");
  const found = await findObject(disk, key);
  if (!found) throw new AppError("input_missing");
  if (found.sizeBytes === image.sizeBytes) return;
  const sizes = { sizeBytes: found.sizeBytes, expectedBytes: image.sizeBytes };
  log.error({ key, ...sizes }, "the file of a picture is damaged");
  throw new AppError("input_missing", "The file of a picture that the job needs is damaged.");
}

/** A stream of the stored original. Throws `input_missing` when the object is gone or damaged, `storage_unavailable`. */
export async function openOriginal(services: Reading, image: StoredOriginal): Promise<Readable> {
  await requireOriginal(services, image);
  try {
    return await services.disk.getStream(objectKey(image, "original"));
  } catch (error) {
    throw storageFailure(error);
  }
}

/** Copies the stored original to a local file. Throws `input_missing` when the object is gone or damaged, `storage_unavailable`. */
export async function readOriginalTo(services: Reading, image: StoredOriginal, path: string): Promise<void> {
  const source = await openOriginal(services, image);
  try {
    await pipeline(source, createWriteStream(path));
  } catch (error) {
    throw storageFailure(error);
  }
}
