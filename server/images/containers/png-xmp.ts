import { crc32 } from "node:zlib";
import { pngChunks, pngSignature } from "../formats/png.ts";

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
  for (const { type, data, end } of pngChunks(bytes)) {
    if (!keptChunks.has(type)) continue;
    parts.push(bytes.subarray(end - data.length - 12, end));
    if (type === "IHDR") parts.push(xmpChunk(xmp));
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
