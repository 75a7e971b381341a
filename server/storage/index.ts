/**
 * Object storage for image files, and temporary folders.
 *
 * An object has a key and is never changed after it was written. Every failure is
 * `storage_unavailable` or `storage_full`. Which object belongs to which image is decided in `server/images`.
 */
export {
  closeFolders,
  openDisk,
  findObject,
  type FoundObject,
  readFreeSpace,
  requireFreeSpace,
  listObjectKeys,
  probeDisk,
  putAll,
  removePrefix,
  storageFailure,
} from "./disk.ts";
export { sweepTempFolders, tempFolderMs, withTempFolder } from "./temp-folder.ts";
export type { Disk } from "flydrive";
