import type { StoredMime, StoredObject, Variant } from "./image.ts";

const extensions = {
  "image/jpeg": "jpg",
  "image/png": "png",
  "image/webp": "webp",
} as const satisfies Record<StoredMime, string>;

function isStoredMime(mime: string): mime is StoredMime {
  return Object.hasOwn(extensions, mime);
}

/** File extension without the dot. */
export function extensionOf(mime: string): string {
  return isStoredMime(mime) ? extensions[mime] : "bin";
}

export function uploadKey(ownerId: string, imageId: string): string {
  return `users/${ownerId}/${imageId}`;
}

export function outputKey(output: { jobId: string; attempt: number; position: number }): string {
  return `jobs/${output.jobId}/${output.attempt}/${output.position}`;
}

/** Key of one file of a picture. */
export function objectKey({ storageKey, mime }: StoredObject, variant: Variant): string {
  return `${storageKey}/${variant}.${variant === "original" ? extensionOf(mime) : "webp"}`;
}

/** Media type under which a file of a picture is served. */
export function variantMime(mime: string, variant: Variant): string {
  return variant === "original" ? mime : "image/webp";
}
