/** Image limits that also appear in error messages, so that messages and checks agree. */
export const pictureLimits = {
  /** Of one uploaded file, in MiB. */
  uploadMib: 25,
  /** Files of one upload. */
  uploadFiles: 20,
  uploadMegapixels: 50,
  /** Longest side of an upload, in pixels. */
  uploadSidePx: 16_384,
  /** Longer side ÷ shorter side of an upload above `uploadRatioFreeMegapixels`. */
  uploadRatio: 100,
  uploadRatioFreeMegapixels: 1,
  /** Of a picture that is scaled down as it is taken: its file in MiB, and its pixels. */
  scalableMib: 100,
  scalableMegapixels: 220,
  outputMegapixels: 64,
  /** By how much one side of a picture grows at most, in pixels. */
  expandSidePx: 4_096,
  /** Pictures that one batch may ask for; also how many open jobs an account has, unless it is configured. */
  batchPictures: 200,
} as const;
