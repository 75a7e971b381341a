import { AppError } from "../../platform/errors.ts";
import { uploadLimits } from "../limits.ts";

export type SourceFormat = "jpeg" | "png" | "webp" | "avif";

/** Facts from a file's structure, read without decoding a pixel. */
export interface Container {
  readonly format: SourceFormat;
  readonly widthPx: number;
  readonly heightPx: number;
  readonly isAnimated: boolean;
  readonly isLossless: boolean;
  /** Decodes of a plain picture of this size that cost as much. */
  readonly passes: number;
  /** Chunks, segments or boxes. */
  readonly parts: number;
  /** Everything in the file that is not compressed pixels, bytes after the picture's end included. */
  readonly extras: readonly Buffer[];
}

/** Refuses a file that is cut into more parts than any program writes: each costs time however small it is. */
export function assertFewParts(parts: number): void {
  if (parts > uploadLimits.parts) throw unreadable("too many parts");
}

export function unreadable(reason: string): AppError {
  return new AppError("upload_unreadable", undefined, { details: { reason } });
}

export function unsupported(found: string): AppError {
  return new AppError("upload_unsupported", undefined, { details: { found } });
}
