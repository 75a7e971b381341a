import type { Failure } from "../client/failures.ts";

export const maxUploadBytes = 25 * 1024 * 1024;
export const maxUploadsAtOnce = 20;
export const acceptedTypes = "image/jpeg,image/png,image/webp,image/avif";

const accepted: ReadonlySet<string> = new Set(acceptedTypes.split(","));

/** What the server would refuse anyway, known before a byte is read; null when there is nothing to object to. */
export function checkFile(file: Pick<File, "type" | "size">): Failure | null {
  if (!accepted.has(file.type)) return { code: "upload_unsupported", message: "" };
  if (file.size > maxUploadBytes) return { code: "upload_too_large", message: "" };
  return null;
}
