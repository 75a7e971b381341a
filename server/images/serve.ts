import type { Readable } from "node:stream";
import { AppError } from "../platform/index.ts";
import type { Services } from "../services/index.ts";
import { findObject, storageFailure, type FoundObject } from "../storage/index.ts";
import { fileHeaders } from "./file-headers.ts";
import { objectKey } from "./object-keys.ts";
import { findOwnImage, type OwnImageInput } from "./own-image.ts";
import type { Variant } from "./image.ts";
import type { ImageRow } from "./to-view.ts";

export interface OpenFileInput extends OwnImageInput {
  readonly variant: Variant;
  /** Asks the browser to save the file instead of showing it. */
  readonly download?: boolean | undefined;
  /** The request's If-None-Match. */
  readonly ifNoneMatch?: string | null | undefined;
}

/** `open` is null when the caller's copy is still right (304). Nothing is opened before `open` is called. */
export interface OpenedFile {
  readonly headers: Readonly<Record<string, string>>;
  readonly open: (() => Promise<Readable>) | null;
}

/** A file of an own picture with the headers to serve it. Throws `not_found`, `file_missing`, `storage_unavailable`. */
export async function openFile(
  services: Pick<Services, "db" | "disk" | "log">,
  input: OpenFileInput,
): Promise<OpenedFile> {
  const { row } = await findOwnImage(services.db, input);
  const headers = fileHeaders(row, input);
  if (isKnown(input.ifNoneMatch, headers.etag)) return { headers: { ...headers }, open: null };
  const key = objectKey(row, input.variant);
  const found = await findObject(services.disk, key);
  if (!found) {
    services.log.warn({ imageId: row.id, key }, "the object of a picture is missing");
    throw new AppError("file_missing");
  }
  if (isDamaged(row, input.variant, found)) {
    const sizes = { sizeBytes: found.sizeBytes, expectedBytes: row.sizeBytes };
    services.log.error({ imageId: row.id, key, ...sizes }, "the file of a picture is damaged");
    throw new AppError("not_found");
  }
  return {
    headers: { ...headers, "content-length": String(found.sizeBytes) },
    open: () => openStream(services, key),
  };
}

/** Only the size of the original is known; a power cut leaves the others empty at worst. */
function isDamaged({ sizeBytes }: ImageRow, variant: Variant, found: FoundObject): boolean {
  return variant === "original" ? found.sizeBytes !== sizeBytes : found.sizeBytes === 0;
}

async function openStream({ disk }: Pick<Services, "disk">, key: string): Promise<Readable> {
  try {
    return await disk.getStream(key);
  } catch (error) {
    throw storageFailure(error);
  }
}

function isKnown(ifNoneMatch: string | null | undefined, etag: string): boolean {
  const tags = (ifNoneMatch ?? "").split(",").map((tag) => tag.trim().replace(/^W\//, ""));
  return tags.includes(etag) || tags.includes("*");
}
