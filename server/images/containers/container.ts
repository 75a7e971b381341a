import { AppError } from "../../platform/index.ts";

export type SourceFormat = "jpeg" | "png" | "webp" | "avif";

/** What a file's structure says, read without decoding a pixel. */
export interface Container {
  readonly format: SourceFormat;
  readonly widthPx: number;
  readonly heightPx: number;
  readonly isAnimated: boolean;
  readonly isLossless: boolean;
  /** Everything in the file that is not compressed pixels, bytes after the picture's end included. */
  readonly extras: readonly Buffer[];
}

export function unreadable(reason: string): AppError {
  return new AppError("upload_unreadable", undefined, { details: { reason } });
}

export function unsupported(found: string): AppError {
  return new AppError("upload_unsupported", undefined, { details: { found } });
}
