export { deleteUnusedRows, lockRows } from "./delete-rows.ts";
export { discardObjects, discardOutput } from "./discard-output.ts";
export { getImage } from "./get.ts";
export { readUsage, type Usage } from "./quota.ts";
export type { ImageView } from "./image-view.ts";
export { ingest } from "./ingest.ts";
export { previewPx, thumbnailPx, uploadLimits } from "./limits.ts";
export { listImages, type ImagePage, type ListImagesInput } from "./library.ts";
export { listImagesSchema } from "./list-schema.ts";
export { openFile, type OpenedFile, type OpenFileInput } from "./serve.ts";
export { purgeDeleted } from "./purge-deleted.ts";
export { purgeImages } from "./purge-images.ts";
export { requireOriginal, openOriginal, readOriginalTo } from "./read-original.ts";
export { removeImages } from "./remove.ts";
export { renameImage } from "./rename.ts";
export { restoreImages } from "./restore.ts";
export { starImage } from "./star.ts";
export { storeOutput } from "./outputs.ts";
export {
  variants,
  type IngestedImage,
  type IngestInput,
  type StoredMime,
  type StoredObject,
  type StoredOutput,
  type StoreOutputInput,
  type Variant,
} from "./image.ts";
export { sweepOrphanObjects } from "./purge.ts";
export { toImageView, type ImageRow } from "./to-view.ts";
