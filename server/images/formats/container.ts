import { AppError } from "../../platform/errors.ts";
import type { ColourTag } from "../colour.ts";
import { uploadLimits } from "../limits.ts";

export type SourceFormat = "jpeg" | "png" | "webp" | "avif" | "heic" | "gif" | "tiff";

/** Facts from a file's structure, read without decoding a pixel. */
export interface Container {
  readonly format: SourceFormat;
  readonly widthPx: number;
  readonly heightPx: number;
  /** More pictures than one: only the first that shows something is taken. */
  readonly isAnimated: boolean;
  readonly isLossless: boolean;
  /** The end of the file is missing; what is there may still be nearly the whole picture. */
  readonly isCut: boolean;
  /** Decoded channels at the end that are neither colour nor transparency. */
  readonly sideChannels: number;
  /** Decodes of a plain picture of this size that cost as much. */
  readonly passes: number;
  /** Chunks, segments or boxes. */
  readonly parts: number;
  /** Colours that the decoder does not convert by itself; null for sRGB and for ICC profiles. */
  readonly colour: ColourTag | null;
}

/** What most files have. */
export const usual = {
  isAnimated: false,
  isLossless: false,
  isCut: false,
  sideChannels: 0,
  passes: 1,
  colour: null,
} as const;

/** Refuses a file that is cut into more parts than any program writes: each costs time however small it is. */
export function assertFewParts(parts: number): void {
  if (parts > uploadLimits.parts) throw unreadable("too many parts");
}

const sentences: Readonly<Record<string, string>> = {
  truncated: "The file ends before the picture does: it was not copied to its end. Copy or export it again.",
};

export function unreadable(reason: string): AppError {
  return new AppError("upload_unreadable", sentences[reason], { details: { reason } });
}
