import { createWriteStream } from "node:fs";
import type { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { AppError } from "../platform/index.ts";
import type { Services } from "../services/index.ts";
import { findObject, storageFailure } from "../storage/index.ts";
import { objectKey } from "./object-keys.ts";
import type { StoredObject } from "./stored-image.ts";

/** Throws `input_missing` when the stored original is gone, `storage_unavailable`. */
export async function requireOriginal(services: Pick<Services, "disk">, image: StoredObject): Promise<void> {
  if (!(await findObject(services.disk, objectKey(image, "original")))) throw new AppError("input_missing");
}

/** A stream of the stored original. Throws `input_missing` when the object is gone, `storage_unavailable`. */
export async function openOriginal(services: Pick<Services, "disk">, image: StoredObject): Promise<Readable> {
  await requireOriginal(services, image);
  try {
    return await services.disk.getStream(objectKey(image, "original"));
  } catch (error) {
    throw storageFailure(error);
  }
}

/** Copies the stored original to a local file. Throws `input_missing` when the object is gone, `storage_unavailable`. */
export async function readOriginalTo(
  services: Pick<Services, "disk">,
  image: StoredObject,
  path: string,
): Promise<void> {
  const source = await openOriginal(services, image);
  try {
    await pipeline(source, createWriteStream(path));
  } catch (error) {
    throw storageFailure(error);
  }
}
