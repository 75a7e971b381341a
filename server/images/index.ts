export { deleteUnusedRows, lockRows } from "./delete-rows.ts";
export { discardObjects, discardOutput } from "./discard-output.ts";
export { getImage } from "./get.ts";
export { readUsage, type Usage } from "./guest-limit.ts";
export type { ImageView } from "./image-view.ts";
export { ingest } from "./ingest.ts";
export { previewPx, thumbnailPx, uploadLimits } from "./limits.ts";
export { listImages, type ImagePage, type ListImagesInput } from "./list.ts";
export { listImagesSchema } from "./list-schema.ts";
export { openFile, type OpenedFile, type OpenFileInput } from "./open-file.ts";
export { purgeDeleted } from "./purge-deleted.ts";
export { purgeImages } from "./purge-images.ts";
export { requireOriginal, openOriginal, readOriginalTo } from "./read-original.ts";
export { removeImages } from "./remove.ts";
export { renameImage } from "./rename.ts";
export { restoreImages } from "./restore.ts";
export { starImage } from "./star.ts";
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
export { toImageView, type ImageRow } from "./to-view.ts";
