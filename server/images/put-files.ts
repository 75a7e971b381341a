import { createHash } from "node:crypto";
import type { Services } from "../services/index.ts";
import { putAll } from "../storage/index.ts";
import type { ImageFiles } from "./encode.ts";
import { objectKey, variantMime } from "./object-keys.ts";
import { variants } from "./image.ts";

/** Writes the three files of a picture below `storageKey`. Throws `storage_unavailable`. */
export async function putFiles(
  services: Pick<Services, "disk">,
  storageKey: string,
  files: Pick<ImageFiles, "original" | "preview" | "thumbnail" | "mime">,
): Promise<void> {
  const { mime } = files;
  const objects = variants.map((variant) => ({
    key: objectKey({ storageKey, mime }, variant),
    bytes: files[variant],
    mime: variantMime(mime, variant),
  }));
  await putAll(services.disk, objects);
}

/** Lower-case hex. */
export function sha256(bytes: Buffer): string {
  return createHash("sha256").update(bytes).digest("hex");
}
