// Still to land here: ingest, listImages, getImage, starImage, renameImage, removeImages, restoreImages, openFile
export { deleteUnusedRows } from "./delete-rows.ts";
export { discardObjects, discardOutput } from "./discard-output.ts";
export type { ImageView } from "./image-view.ts";
export { purgeDeleted } from "./purge-deleted.ts";
export { purgeImages } from "./purge-images.ts";
export { openOriginal, readOriginalTo } from "./read-original.ts";
export { storeOutput } from "./store-output.ts";
export {
  variants,
  type IngestedImage,
  type IngestInput,
  type StoredMime,
  type StoredObject,
  type StoredOutput,
  type StoreOutputInput,
  type Variant,
} from "./stored-image.ts";
export { sweepOrphanObjects } from "./sweep-orphan-objects.ts";
