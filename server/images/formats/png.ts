import { Writable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { crc32, createInflate, inflateSync } from "node:zlib";
import { uploadLimits } from "../limits.ts";
import { assertFewParts, type Container, unreadable } from "./container.ts";

const pngSignature = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);

interface PngChunk {
  readonly type: string;
  readonly data: Buffer;
  /** Offset of the first byte after the chunk. */
  readonly end: number;
}

/** The chunks up to and with IEND. Throws `upload_unreadable` when the file ends before it. */
function* pngChunks(bytes: Buffer): Generator<PngChunk> {
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

/** Less than this cannot inflate to more than a quarter of a gigabyte (deflate reaches 1,032 : 1 at most). */
const harmlessBytes = 256 * 1_024;
const samplesByColourType = new Map([
  [0, 1],
  [2, 3],
  [3, 1],
  [4, 2],
  [6, 4],
]);

/**
 * Throws `upload_unreadable` when the pixel data inflates to more than the header's size needs: decoders inflate all of
 * it, 25 GB from 25 MB. Damaged data is left to the decoder to refuse.
 */
export async function boundPngPixels(bytes: Buffer): Promise<void> {
  const compressed: Buffer[] = [];
  let limitBytes = 0;
  for (const { type, data } of pngChunks(bytes)) {
    if (type === "IHDR") limitBytes = pixelBytes(data);
    if (type === "IDAT") compressed.push(data);
  }
  if (compressed.reduce((sum, part) => sum + part.length, 0) < harmlessBytes) return;
  if (await inflatesBeyond(compressed, limitBytes)) throw unreadable("more pixels than its size");
}

/** Rows with their filter byte; interlacing splits a row into at most seven, each rounded up. */
function pixelBytes(header: Buffer): number {
  const widthPx = header.readUInt32BE(0);
  const heightPx = header.readUInt32BE(4);
  const samples = samplesByColourType.get(header[9] ?? 0) ?? 4;
  const rowBytes = Math.ceil((widthPx * samples * (header[8] ?? 16)) / 8);
  return rowBytes * heightPx + 16 * (heightPx + 1);
}

async function inflatesBeyond(compressed: readonly Buffer[], limitBytes: number): Promise<boolean> {
  let inflatedBytes = 0;
  const enough = new AbortController();
  const counter = new Writable({
    write(chunk: Buffer, _encoding, done) {
      inflatedBytes += chunk.length;
      if (inflatedBytes > limitBytes) enough.abort();
      done();
    },
  });
  try {
    await pipeline(compressed, createInflate({ chunkSize: 262_144 }), counter, { signal: enough.signal });
  } catch {
    // Either aborted above or damaged, and the decoder reports it.
  }
  return inflatedBytes > limitBytes;
}

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

/** iTXt: keyword NUL, not compressed, method 0, no language NUL, no translated keyword NUL, text. */
function xmpChunk(xmp: string): Buffer {
  return pngChunk(
    "iTXt",
    Buffer.concat([Buffer.from("XML:com.adobe.xmp\0\0\0\0\0", "latin1"), Buffer.from(xmp)]),
  );
}

function pngChunk(type: string, data: Buffer): Buffer {
  const body = Buffer.concat([Buffer.from(type, "latin1"), data]);
  const chunk = Buffer.alloc(body.length + 8);
  chunk.writeUInt32BE(data.length, 0);
  body.copy(chunk, 4);
  chunk.writeUInt32BE(crc32(body), body.length + 4);
  return chunk;
}
