import { rmdir } from "node:fs/promises";
import path from "node:path";
import type { Disk } from "flydrive";
import { FSDriver } from "flydrive/drivers/fs";
import { storageFailure } from "./storage-failure.ts";

/** Removes every object below a key prefix (without a closing slash). Nothing there is no error. Throws `storage_unavailable`. */
export async function removePrefix(disk: Disk, prefix: string): Promise<void> {
  try {
    if (disk.driver instanceof FSDriver) await removeFolder(disk, disk.driver, prefix);
    else await removeOneByOne(disk, prefix);
  } catch (error) {
    throw storageFailure(error);
  }
}

/** Folders exist on this disk alone; parents that became empty go too, so that they do not pile up. */
async function removeFolder(disk: Disk, driver: FSDriver, prefix: string): Promise<void> {
  await disk.deleteAll(prefix);
  const { location } = driver.options;
  if (typeof location !== "string") return;
  for (let parent = path.posix.dirname(prefix); parent.includes("/"); parent = path.posix.dirname(parent)) {
    try {
      await rmdir(path.join(location, parent));
    } catch {
      // Not empty, or already gone: either way nothing above it is ours to remove.
      return;
    }
  }
}

/** One by one, since not every S3 server takes a batch delete. */
async function removeOneByOne(disk: Disk, prefix: string): Promise<void> {
  const { objects } = await disk.listAll(`${prefix}/`, { recursive: true });
  for (const object of objects) if (object.isFile) await disk.delete(object.key);
}
