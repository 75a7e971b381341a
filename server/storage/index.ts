/**
 * Object storage for image files, and temporary folders.
 *
 * An object has a key and is never changed after it was written. Every failure is
 * `storage_unavailable` or `storage_full`. Objects lie in the bucket `S3_BUCKET`, without one in files below the data folder.
 * Which object belongs to which image is decided in `server/images`.
 */
export { reasonOfStore } from "./bucket-client.ts";
export {
  endUploads,
  findObject,
  hashObject,
  listObjects,
  openBucket,
  openDisk,
  openLocalDisk,
  openObject,
  probeDisk,
  probeList,
  putAll,
  readStoreClock,
  removePrefix,
  storageFailure,
} from "./disk.ts";
export { type ImageDisk, type ListedObject, type OpenObject, type SignedPut, signedPutMs } from "./driver.ts";
export { syncFolder } from "./local.ts";
export {
  closeFolders,
  minFreeFiles,
  probeWrites,
  readFreeSpace,
  requireFreeSpace,
  type Room,
  withRoom,
} from "./space.ts";
export { keepTempFolder, sweepTempFolders, tempFolderMs, tempRoot, withTempFolder } from "./temp-folder.ts";
