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
export { expireUploads, giveUpUpload, removeUploadsOf } from "./end-uploads.ts";
export {
  announcedSchema,
  beginUpload,
  finishUpload,
  receiveUpload,
  scaleDownSchema,
} from "./direct-upload.ts";
export {
  type ClientFile,
  type ClientFolder,
  clientListLimits,
  listClientFiles,
  openClientFile,
  putClientFiles,
  expireClientFiles,
  noteListed,
} from "./client-files.ts";
export { withFilePermit } from "./files.ts";
export { inspect, toDecodable } from "./inspect.ts";
export { adjustMask, highlightMask, maskOfCutOut, maskOfHoles, reverseMask } from "./adjust-mask.ts";
export { formatOf, openAs, readAs } from "./convert.ts";
export { copyPicture } from "./copy-picture.ts";
export { copyStore } from "./copy-store.ts";
export {
  checkStore,
  isStoreCheckDue,
  markKey,
  otherStoreReason,
  readMark,
  type StoreState,
} from "./store-mark.ts";
export { deleteUnusedRows, lockRows, purgeDeleted, purgeImages, removePicturesOf } from "./purge.ts";
export { orphanDuty, orphanTurn, sweepOrphanObjects } from "./orphans.ts";
export { discardObjects, discardOutput, storeOutput } from "./outputs.ts";
export {
  changeImage,
  changeImageSchema,
  chooseTop,
  deleteForGood,
  emptyTrash,
  findImage,
  getImage,
  getImageByHash,
  type OwnedImage,
  markImages,
  readAllImages,
  removeImages,
  restoreImages,
} from "./library.ts";
export {
  cleanName,
  listTags,
  removeTag,
  renameTag,
  tagImages,
  tagLimits,
  tagNameSchema,
  type TagView,
  untagImages,
} from "./tags.ts";
export { checkSearch } from "./conditions.ts";
export { countUpTo, listGallerySchema, listImages, type ListImagesInput, listImagesSchema } from "./list.ts";
export { decodeCursor, encodeCursor } from "./place.ts";
export { countMonths, countNoted, type MonthCount } from "./timeline.ts";
export {
  checkGuestSpace,
  goneAt,
  lockUploadsOf,
  trashMsOf,
  quotaRule,
  readUsage,
  restorableSince,
  storageLimit,
  storageQuotaError,
} from "./quota.ts";
export { isPng } from "./formats/png.ts";
export { readPngTexts, withoutBombs } from "./formats/png-texts.ts";
export { type PngText, stripPlainPng } from "./formats/png-write.ts";
export {
  getImages,
  type AnswerFormat,
  answerFormats,
  type Conversion,
  mimeOfKey,
  objectKey,
  type AiFacts,
  type ImageView,
  isAiPicture,
  variants,
  type IngestedImage,
  type StoredMime,
  extensionOf,
  type StoredOutput,
  type StoreOutputInput,
  type Variant,
  toImageView,
  viewColumns,
  uploadNotes,
} from "./image.ts";
export { embedPictures } from "./near.ts";
export {
  countDescriptions,
  type DescriptionCounts,
  findUndescribed,
  isStillUndescribed,
  noteTry,
  pictureForModel,
  plainPicture,
  type SentJpeg,
  storeModelDescription,
  type Undescribed,
} from "./undescribed.ts";
export { searchImages } from "./search.ts";
export {
  dropOldSearchTexts,
  fillSearchTexts,
  plainSpelling,
  searchForm,
  spellingsOf,
  textForm,
} from "./search-text.ts";
export { discardStaged, ingest, insertStaged, type StagedUpload, stageUpload } from "./ingest.ts";
export { dateImages, dateImagesSchema } from "./dates.ts";
export { cleanDescription, cleanTitle } from "./title.ts";
export { uploadLimits } from "./limits.ts";
export {
  openFile,
  type OpenedFile,
  type OpenFileInput,
  baseNameOf,
  requireOriginal,
  openOriginal,
  readOriginalTo,
} from "./serve.ts";
