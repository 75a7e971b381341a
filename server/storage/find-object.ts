import type { Disk } from "flydrive";
import { storageFailure } from "./storage-failure.ts";

export interface FoundObject {
  readonly sizeBytes: number;
  readonly modifiedAt: Date;
}

/** Size and age of an object, or null when it is not there. Throws `storage_unavailable`. */
export async function findObject(disk: Disk, key: string): Promise<FoundObject | null> {
  try {
    const { contentLength, lastModified } = await disk.getMetaData(key);
    return { sizeBytes: contentLength, modifiedAt: lastModified };
  } catch (error) {
    if (await isAbsent(disk, key)) return null;
    throw storageFailure(error);
  }
}

async function isAbsent(disk: Disk, key: string): Promise<boolean> {
  try {
    return !(await disk.exists(key));
  } catch (error) {
    throw storageFailure(error);
  }
}
