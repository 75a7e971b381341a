import type { Disk } from "flydrive";
import { storageFailure } from "./storage-failure.ts";

export interface NewObject {
  readonly key: string;
  readonly bytes: Buffer;
  readonly mime: string;
}

/** Writes all objects and returns when no write is under way any more, also when one failed. Throws `storage_unavailable`. */
export async function putAll(disk: Disk, objects: readonly NewObject[]): Promise<void> {
  const writes = objects.map(({ key, bytes, mime }) => disk.put(key, bytes, { contentType: mime }));
  const results = await Promise.allSettled(writes);
  const failed = results.find((result) => result.status === "rejected");
  if (failed) throw storageFailure(failed.reason);
}
