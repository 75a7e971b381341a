import { inflateSync } from "node:zlib";
import { uploadLimits } from "../limits.ts";
import { assertFewParts, unreadable, type Container } from "./container.ts";

export const pngSignature = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);

export interface PngChunk {
  readonly type: string;
  readonly data: Buffer;
  /** Offset of the first byte after the chunk. */
  readonly end: number;
}

/** The chunks up to and with IEND. Throws `upload_unreadable` when the file ends before it. */
export function* pngChunks(bytes: Buffer): Generator<PngChunk> {
  if (!bytes.subarray(0, 8).equals(pngSignature)) throw unreadable("no PNG start");
  let offset = 8;
  for (;;) {
    if (offset + 12 > bytes.length) throw unreadable("truncated");
    const end = offset + 12 + bytes.readUInt32BE(offset);
    if (end > bytes.length) throw unreadable("truncated");
    const type = bytes.toString("latin1", offset + 4, offset + 8);
    yield { type, data: bytes.subarray(offset + 8, end - 4), end };
    if (type === "IEND") return;
    offset = end;
  }
}

/** Reads size and animation, and bounds what compressed text and profiles would inflate to. */
export function readPng(bytes: Buffer): Container {
  const extras: Buffer[] = [];
  let size: PngHeader | null = null;
  let isAnimated = false;
  let inflatedBytes = 0;
  let end = 0;
  let chunks = 0;
  for (const chunk of pngChunks(bytes)) {
    end = chunk.end;
    chunks += 1;
    assertFewParts(chunks);
    if (chunk.type === "IDAT") continue;
    if (!size) size = readHeader(chunk);
    else if (chunk.type === "acTL") isAnimated = true;
    else extras.push(chunk.data);
    inflatedBytes += inflatedSize(chunk, uploadLimits.inflatedMetadataBytes - inflatedBytes);
  }
  if (!size) throw unreadable("no header");
  extras.push(bytes.subarray(end));
  return { format: "png", ...size, isAnimated, isLossless: true, parts: chunks, extras };
}

type PngHeader = Pick<Container, "widthPx" | "heightPx" | "passes">;

/** An interlaced picture is read in seven passes, each of which goes over all of its rows. */
const interlacePasses = 7;

function readHeader(chunk: PngChunk): PngHeader {
  if (chunk.type !== "IHDR" || chunk.data.length !== 13) throw unreadable("no header");
  return {
    widthPx: chunk.data.readUInt32BE(0),
    heightPx: chunk.data.readUInt32BE(4),
    passes: chunk.data[12] === 0 ? 1 : interlacePasses,
  };
}

function inflatedSize(chunk: PngChunk, budgetBytes: number): number {
  const compressed = compressedPart(chunk);
  if (!compressed) return 0;
  try {
    return inflateSync(compressed, { maxOutputLength: Math.max(1, budgetBytes) }).length;
  } catch {
    // Too large or damaged. Damaged data may have inflated up to the budget before that was noticed, chunk after chunk.
    throw unreadable("metadata too large or damaged");
  }
}

/** Zlib data of iCCP (name NUL method), zTXt (keyword NUL method) and compressed iTXt chunks. */
function compressedPart(chunk: PngChunk): Buffer | null {
  const { type, data } = chunk;
  const nul = data.indexOf(0);
  if (nul < 0) return null;
  if (type === "iCCP" || type === "zTXt") return data.subarray(nul + 2);
  if (type !== "iTXt" || data[nul + 1] !== 1) return null;
  const language = data.indexOf(0, nul + 3);
  const keyword = language < 0 ? -1 : data.indexOf(0, language + 1);
  return keyword < 0 ? null : data.subarray(keyword + 1);
}
