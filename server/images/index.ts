/**
 * Images: uploads, results, the gallery, and the files behind them.
 *
 * - image: a row of `images`; its objects are the files: the original and its variants (thumbnail, preview).
 * - ingest: check, decode and store an upload. Output: the stored result of a job.
 * - removed images can be restored until `purge` deletes row and objects.
 *
 *     upload ──ingest──▶ live ──removeImages──▶ removed ──purgeDeleted──▶ gone
 *                          ◀───restoreImages──────┘
 *
 * Objects are written before their row, so a row always has its files. An upload is decoded only after `inspect` accepted
 * its bytes. No knowledge of jobs here.
 */
export { announcedSchema, beginUpload, expireUploads, finishUpload, receiveUpload } from "./direct-upload.ts";
export { copyStore } from "./copy-store.ts";
export { checkStore, otherStoreReason, readMark, type StoreState } from "./store-mark.ts";
export {
  deleteUnusedRows,
  lockRows,
  purgeDeleted,
  purgeImages,
  sweepOrphanObjects,
  sweepOrphansInTurn,
} from "./purge.ts";
export { discardObjects, discardOutput, storeOutput } from "./outputs.ts";
export {
  getImage,
  listImages,
  type ListImagesInput,
  listImagesSchema,
  removeImages,
  renameImage,
  restoreImages,
  starImage,
} from "./library.ts";
export { readUsage, storageLimit, storageQuotaError } from "./quota.ts";
export { stripPlainPng } from "./formats/png.ts";
export {
  type ImageView,
  variants,
  type IngestedImage,
  type StoredMime,
  type StoredOutput,
  type StoreOutputInput,
  type Variant,
  toImageView,
} from "./image.ts";
export { ingest } from "./ingest.ts";
export { uploadLimits } from "./limits.ts";
export {
  openFile,
  type OpenedFile,
  type OpenFileInput,
  requireOriginal,
  openOriginal,
  readOriginalTo,
} from "./serve.ts";
