import { crc32 } from "node:zlib";
import { assertFewParts, unreadable } from "./container.ts";
import { type PngChunk, pngChunk, pngChunks, pngSignature } from "./png.ts";

/** These chunks change colours or frames; without them the same data would be another picture. */
const changesPicture = new Set([
  "PLTE",
  "tRNS",
  "gAMA",
  "cHRM",
  "sBIT",
  "iCCP",
  "cICP",
  "mDCV",
  "cLLI",
  "acTL",
  "fcTL",
  "fdAT",
]);

/** Share of the size without compression above which a file counts as not compressed. */
const compressedShare = 0.95;

/**
 * The same picture with header and pixel data as its only chunks; the pixel data is not decoded. Null when that is not
 * safe or not worth it: anything but 8-bit RGB or RGBA in sRGB, interlaced, animated, not compressed, or damaged.
 */
export function stripPlainPng(bytes: Buffer): Buffer | null {
  try {
    const chunks = fewChunks(bytes);
    const kept = chunks.filter(({ type }) => type === "IHDR" || type === "IDAT" || type === "IEND");
    if (!chunks.every(isHarmless) || !isPlain(kept) || !kept.every((chunk) => isIntact(bytes, chunk)))
      return null;
    return Buffer.concat([pngSignature, ...kept.map((chunk) => wholeChunk(bytes, chunk))]);
  } catch {
    return null;
  }
}

function fewChunks(bytes: Buffer): PngChunk[] {
  const chunks: PngChunk[] = [];
  for (const chunk of pngChunks(bytes)) {
    chunks.push(chunk);
    assertFewParts(chunks.length);
  }
  if (chunks.at(-1)?.type !== "IEND") throw unreadable("truncated");
  return chunks;
}

/** Chunks whose type begins with a capital letter are part of the picture; all others may be left out. */
function isHarmless({ type }: PngChunk): boolean {
  if (type === "IHDR" || type === "IDAT" || type === "IEND") return true;
  return !changesPicture.has(type) && /^[a-z]/.test(type);
}

/** Header, pixel data and end, in this order. */
function isPlain([header, ...rest]: readonly PngChunk[]): boolean {
  const data = rest.slice(0, -1);
  if (header?.type !== "IHDR" || data.length === 0 || data.some(({ type }) => type !== "IDAT")) return false;
  const channels = plainChannels(header.data);
  if (channels === null) return false;
  const rowBytes = 1 + header.data.readUInt32BE(0) * channels;
  const sizeBytes = data.reduce((sum, chunk) => sum + chunk.data.length, 0);
  return sizeBytes <= compressedShare * rowBytes * header.data.readUInt32BE(4);
}

/** Channels of an 8-bit RGB or RGBA picture that is not interlaced; null for any other header. */
function plainChannels(header: Buffer): 3 | 4 | null {
  switch (header.toString("hex", 8)) {
    case "0802000000":
      return 3;
    case "0806000000":
      return 4;
    default:
      return null;
  }
}

/** Whether the checksum is right; it covers type and data. */
function isIntact(bytes: Buffer, { data, end }: PngChunk): boolean {
  return crc32(bytes.subarray(end - data.length - 8, end - 4)) === bytes.readUInt32BE(end - 4);
}

function wholeChunk(bytes: Buffer, { data, end }: PngChunk): Buffer {
  return bytes.subarray(end - data.length - 12, end);
}

/** What decides pixels and their colours; text, dates and camera data stay behind. */
const keptChunks = new Set([
  "IHDR",
  "PLTE",
  "IDAT",
  "IEND",
  "tRNS",
  "gAMA",
  "cHRM",
  "sRGB",
  "iCCP",
  "sBIT",
  "pHYs",
]);

/** The same PNG, pixel data untouched, with `xmp` as its only metadata. */
export function withPngXmp(bytes: Buffer, xmp: string): Buffer {
  const parts: Buffer[] = [pngSignature];
  for (const chunk of pngChunks(bytes)) {
    if (!keptChunks.has(chunk.type)) continue;
    parts.push(wholeChunk(bytes, chunk));
    if (chunk.type === "IHDR") parts.push(xmpChunk(xmp));
  }
  return Buffer.concat(parts);
}

const xmpChunk = (xmp: string) => textChunk({ keyword: "XML:com.adobe.xmp", text: xmp });

/** A text beside the pixels; the keyword is Latin-1. */
export interface PngText {
  readonly keyword: string;
  readonly text: string;
}

/** iTXt: keyword NUL, not compressed, method 0, no language NUL, no translated keyword NUL, text. */
function textChunk({ keyword, text }: PngText): Buffer {
  return pngChunk("iTXt", Buffer.concat([Buffer.from(`${keyword}\0\0\0\0\0`, "latin1"), Buffer.from(text)]));
}

export const textChunks = (texts: readonly PngText[]): Buffer => Buffer.concat(texts.map(textChunk));

/** Signature, and the header with its length, type and checksum. */
const headerEnd = 8 + 25;

/** A PNG with further chunks behind its header; what ends in its header gets none. */
export function withChunksBehindHeader(png: Buffer, chunks: Buffer): Buffer {
  if (png.length < headerEnd) return png;
  return Buffer.concat([png.subarray(0, headerEnd), chunks, png.subarray(headerEnd)]);
}
