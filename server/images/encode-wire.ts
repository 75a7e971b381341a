import { AppError, isAppError, isErrorCode } from "../platform/errors.ts";
import type { ImageFiles } from "./encode.ts";

// Answer of the child process on stdout: the length of a JSON head (4 bytes), the head, and the files that it names.

const fileNames = ["original", "preview", "thumbnail"] as const;

/** Resources that a child has used since its start. */
export interface ChildUsage {
  readonly cpuMs: number;
  readonly rssBytes: number;
}

interface WireError {
  readonly code: string;
  readonly message: string;
  readonly details?: Readonly<Record<string, unknown>> | undefined;
  readonly trace?: string | undefined;
}

type Head =
  | { readonly error: WireError }
  | {
      readonly facts: Pick<ImageFiles, "mime" | "widthPx" | "heightPx" | "thumbhash" | "isMarked">;
      readonly sizes: readonly number[];
    };

export function packFiles({ mime, widthPx, heightPx, thumbhash, isMarked, ...files }: ImageFiles): Buffer[] {
  const bodies = fileNames.map((name) => files[name]);
  const facts = { mime, widthPx, heightPx, thumbhash, ...(isMarked === undefined ? {} : { isMarked }) };
  return [packHead({ facts, sizes: bodies.map(({ length }) => length) }), ...bodies];
}

/** An error that is no AppError becomes `internal`. */
export function packError(thrown: unknown): Buffer[] {
  const error = isAppError(thrown) ? thrown : new AppError("internal", undefined, { cause: thrown });
  const { code, message, details, cause } = error;
  const trace = cause instanceof Error ? cause.stack : undefined;
  return [packHead({ error: { code, message, details, trace } })];
}

function packHead(head: Head): Buffer {
  const json = Buffer.from(JSON.stringify(head));
  const length = Buffer.alloc(4);
  length.writeUInt32BE(json.length);
  return Buffer.concat([length, json]);
}

/** Throws the child's error; returns null for an answer that is not whole. */
export function unpackFiles(answer: Buffer): ImageFiles | null {
  if (answer.length < 4) return null;
  const headEnd = 4 + answer.readUInt32BE(0);
  if (answer.length < headEnd) return null;
  const head = JSON.parse(answer.toString("utf8", 4, headEnd)) as Head;
  if ("error" in head) throw unpackError(head.error);
  const [original = 0, preview = 0, thumbnail = 0] = head.sizes;
  const [previewAt, thumbnailAt] = [headEnd + original, headEnd + original + preview];
  if (answer.length !== thumbnailAt + thumbnail) return null;
  return {
    ...head.facts,
    original: answer.subarray(headEnd, previewAt),
    preview: answer.subarray(previewAt, thumbnailAt),
    thumbnail: answer.subarray(thumbnailAt),
  };
}

function unpackError({ code, message, details, trace }: WireError): AppError {
  const known = isErrorCode(code) ? code : "internal";
  return new AppError(known, message, { ...(details && { details }), cause: trace });
}
