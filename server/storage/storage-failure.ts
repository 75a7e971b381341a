import { AppError } from "../platform/index.ts";

/** What a failed read or write of the picture store is to callers; the original stays as cause. */
export function storageFailure(cause: unknown): AppError {
  return new AppError("storage_unavailable", undefined, { cause });
}
