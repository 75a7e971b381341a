export { openDisk } from "./disk.ts";
export { findObject, type FoundObject } from "./find-object.ts";
export { listObjectKeys } from "./list-object-keys.ts";
export { probeDisk } from "./probe-disk.ts";
export { putAll, type NewObject } from "./put-all.ts";
export { removePrefix } from "./remove-prefix.ts";
export { storageFailure } from "./storage-failure.ts";
export { sweepTempFolders, withTempFolder } from "./temp-folder.ts";
export type { Disk } from "flydrive";
