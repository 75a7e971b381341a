import { pictureLimits } from "../platform/picture-limits.ts";

/** Bounds of an upload; checked before anything is decoded. */
export const uploadLimits = {
  sizeBytes: pictureLimits.uploadMib * 1_048_576,
  pixels: pictureLimits.uploadMegapixels * 1_000_000,
  sidePx: pictureLimits.uploadSidePx,
  ratio: pictureLimits.uploadRatio,
  ratioFreePixels: pictureLimits.uploadRatioFreeMegapixels * 1_000_000,
  /** Files of one request. */
  files: pictureLimits.uploadFiles,
  /** Of a picture that is scaled down as it is taken: its file, and its pixels. */
  scalableBytes: pictureLimits.scalableMib * 1_048_576,
  scalablePixels: pictureLimits.scalableMegapixels * 1_000_000,
  /** Decompressed size of a colour profile; a larger one is dropped. */
  profileBytes: 4 * 1_048_576,
  /** Share of the rows that a cut file may lack at its end. */
  missingShare: 0.1,
  /** Chunks, segments or boxes of a file; 25 MiB in the usual 8 KiB chunks of a PNG are 3,200. */
  parts: 20_000,
  /** Scans of a progressive JPEG; each costs a pass over the whole picture. */
  jpegScans: 64,
  /** Pictures of an animation that are looked through for the first that shows something, and what may be decoded for it. */
  pages: 16,
  pagePixels: 200_000_000,
  decodeSeconds: 25,
  titleCharacters: 120,
  descriptionCharacters: 2_000,
} as const;

/** Limits of the child process for one image; it is killed above them. */
export const childLimits = {
  /** CPU time of all threads; unlike the time on the clock it is the same on a busy computer. */
  cpuMs: 30_000,
  wallMs: 60_000,
  memoryBytes: 2_048 * 1_048_576,
} as const;

/** A direct upload must be finished this long after it was begun. */
export const directUploadMs = 3_600_000;

export const previewPx = 1_280;
export const thumbnailPx = 320;
