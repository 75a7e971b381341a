/**
 * Limits of pictures and of requests for them that several places name, so that checks, messages and pages agree. A page has its
 * own copy, whose type is that of the limit: it then carries no module of the server, and does not compile with another number.
 */
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
  /** Of a prompt, and of a negative one. */
  promptCharacters: 4_000,
  /** Clicks that say what is selected. */
  clicks: 50,
} as const;
