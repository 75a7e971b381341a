export {
  closeFolders,
  openDisk,
  findObject,
  type FoundObject,
  readFreeSpace,
  requireFreeSpace,
  type FreeSpace,
  listObjectKeys,
  probeDisk,
  putAll,
  type NewObject,
  removePrefix,
  storageFailure,
} from "./disk.ts";
export { sweepTempFolders, tempFolderMs, withTempFolder } from "./temp-folder.ts";
export type { Disk } from "flydrive";
