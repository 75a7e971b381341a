import type { Disk } from "flydrive";
import { newId } from "../platform/index.ts";
import { storageFailure } from "./storage-failure.ts";

/** Writes, reads and removes a tiny object, as only that shows a full or read-only store. Throws `storage_unavailable`. */
export async function probeDisk(disk: Disk): Promise<void> {
  const key = `health/${newId()}`;
  try {
    await disk.put(key, "ok");
    try {
      await disk.get(key);
    } finally {
      await disk.delete(key);
    }
  } catch (error) {
    throw storageFailure(error);
  }
}
