import { z } from "zod";
import { parseJson } from "./ask.ts";

/** A picture of the unfinished work. */
export interface PreviewFrame {
  readonly bytes: Uint8Array;
  /** Null where the frame does not say whose it is. */
  readonly promptId: string | null;
}

const withType = 1;
const withMetadata = 4;
const headerBytes = 8;

const metadata = z.object({ prompt_id: z.string().nullish() });

/** The preview in a binary frame; null for frames of other kinds and for what cannot be read. */
export function parsePreview(frame: Buffer): PreviewFrame | null {
  if (frame.length <= headerBytes) return null;
  switch (frame.readUInt32BE(0)) {
    case withType:
      return { bytes: frame.subarray(headerBytes), promptId: null };
    case withMetadata:
      return parseWithMetadata(frame);
    default:
      return null;
  }
}

function parseWithMetadata(frame: Buffer): PreviewFrame | null {
  const start = headerBytes + frame.readUInt32BE(4);
  if (start >= frame.length) return null;
  const parsed = metadata.safeParse(parseJson(frame.subarray(headerBytes, start).toString("utf8")));
  if (!parsed.success) return null;
  return { bytes: frame.subarray(start), promptId: parsed.data.prompt_id ?? null };
}
