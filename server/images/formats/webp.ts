import { assertFewParts, type Container, unreadable, usual } from "./container.ts";
import { uploadLimits } from "../limits.ts";

interface WebpChunk {
  readonly type: string;
  readonly data: Buffer;
}

/** Reads the RIFF chunks. Throws `upload_unreadable` when the file is shorter than its header declares. */
export function readWebp(bytes: Buffer): Container {
  const chunks = riffChunks(bytes, riffEnd(bytes));
  const first = chunks[0];
  if (!first) throw unreadable("no picture");
  const pages = Math.min(uploadLimits.pages, chunks.filter(({ type }) => type === "ANMF").length);
  return {
    ...usual,
    format: "webp",
    ...chunkSize(first),
    isAnimated: chunks.some(({ type }) => type === "ANIM" || type === "ANMF"),
    isLossless: chunks.some(({ type }) => type === "VP8L"),
    // Where it begins with nothing: to decode a later picture, all before it are decoded.
    passes: Math.max(1, (pages * (pages + 1)) / 2),
    parts: chunks.length,
  };
}

function riffEnd(bytes: Buffer): number {
  const isWebp = bytes.toString("latin1", 0, 4) === "RIFF" && bytes.toString("latin1", 8, 12) === "WEBP";
  if (!isWebp) throw unreadable("no WebP start");
  const end = 8 + bytes.readUInt32LE(4);
  if (end > bytes.length) throw unreadable("truncated");
  return end;
}

function riffChunks(bytes: Buffer, end: number): WebpChunk[] {
  const chunks: WebpChunk[] = [];
  let offset = 12;
  while (offset + 8 <= end) {
    const size = bytes.readUInt32LE(offset + 4);
    if (offset + 8 + size > end) throw unreadable("truncated");
    const type = bytes.toString("latin1", offset, offset + 4);
    chunks.push({ type, data: bytes.subarray(offset + 8, offset + 8 + size) });
    assertFewParts(chunks.length);
    offset += 8 + size + (size % 2);
  }
  return chunks;
}

function chunkSize({ type, data }: WebpChunk): { widthPx: number; heightPx: number } {
  if (data.length < 10) throw unreadable("truncated");
  if (type === "VP8X") return { widthPx: 1 + data.readUIntLE(4, 3), heightPx: 1 + data.readUIntLE(7, 3) };
  if (type === "VP8L") {
    const bits = data.readUInt32LE(1);
    return { widthPx: 1 + (bits & 0x3fff), heightPx: 1 + ((bits >>> 14) & 0x3fff) };
  }
  if (type !== "VP8 ") throw unreadable("no picture");
  return { widthPx: data.readUInt16LE(6) & 0x3fff, heightPx: data.readUInt16LE(8) & 0x3fff };
}
