export { deleteUnusedRows, lockRows, purgeDeleted, purgeImages, sweepOrphanObjects } from "./purge.ts";
export { discardObjects, discardOutput, storeOutput } from "./outputs.ts";
export {
  getImage,
  listImages,
  type ImagePage,
  type ListImagesInput,
  listImagesSchema,
  removeImages,
  renameImage,
  restoreImages,
  starImage,
} from "./library.ts";
export { readUsage, type Usage } from "./quota.ts";
export {
  type ImageView,
  variants,
  type IngestedImage,
  type IngestInput,
  type StoredMime,
  type StoredObject,
  type StoredOutput,
  type StoreOutputInput,
  type Variant,
  toImageView,
  type ImageRow,
} from "./image.ts";
export { ingest } from "./ingest.ts";
export { previewPx, thumbnailPx, uploadLimits } from "./limits.ts";
export {
  openFile,
  type OpenedFile,
  type OpenFileInput,
  requireOriginal,
  openOriginal,
  readOriginalTo,
} from "./serve.ts";
