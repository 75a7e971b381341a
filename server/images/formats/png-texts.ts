import { inflateAtMost, isPng, isUsableProfile, type PngChunk, pngChunks } from "./png.ts";
import type { PngText } from "./png-write.ts";

/** Bounds of texts beside the pixels: deflate makes a thousand bytes of one, so that 25 MiB of them fill any memory. */
const limits = { texts: 1_000, textBytes: 2 * 1_048_576, allBytes: 8 * 1_048_576 } as const;

/** The texts of a PNG in the order of the file; those above the limits are left out. Throws `upload_unreadable`. */
export function readPngTexts(bytes: Buffer): PngText[] {
  const texts: PngText[] = [];
  const open = opener();
  for (const chunk of pngChunks(bytes)) {
    const found = readText(chunk);
    const text = found && open(found);
    if (text && texts.length < limits.texts) texts.push({ keyword: found.keyword, text: decode(text) });
  }
  return texts;
}

/**
 * The same file for a decoder, which inflates every text before any limit of its own: of a PNG the deflated texts above the
 * limits are left out, and such a profile. Other files as they are. Throws `upload_unreadable` for a damaged PNG.
 */
export function withoutBombs(bytes: Buffer): Buffer {
  if (!isPng(bytes)) return bytes;
  const open = opener();
  let profiles = 0;
  const isBomb = (chunk: PngChunk): boolean => {
    // A second profile is none, and to try it would cost as much as the first.
    if (chunk.type === "iCCP") return ++profiles > 1 || !isUsableProfile(chunk.data);
    const found = readText(chunk);
    return found?.isDeflated === true && open(found) === null;
  };
  const bombs = pngChunks(bytes).filter(isBomb).toArray();
  return bombs.length === 0 ? bytes : without(bytes, bombs);
}

/** Opens texts until their bytes, and those of attempts that gave none, reach the limit of all. */
function opener(): (found: FoundText) => Buffer | null {
  let leftBytes: number = limits.allBytes;
  return ({ text, isDeflated }) => {
    const mostBytes = Math.min(leftBytes, limits.textBytes);
    const opened = isDeflated ? inflateAtMost(text, mostBytes) : text;
    const isTaken = opened !== null && opened.length <= mostBytes;
    leftBytes -= isTaken ? opened.length : isDeflated ? mostBytes : 0;
    return isTaken ? opened : null;
  };
}

/** Length, type and checksum. */
const chunkFrameBytes = 12;

function without(bytes: Buffer, dropped: readonly PngChunk[]): Buffer {
  let keptTo = 0;
  const parts = dropped.map(({ data, end }) => {
    const part = bytes.subarray(keptTo, end - data.length - chunkFrameBytes);
    keptTo = end;
    return part;
  });
  return Buffer.concat([...parts, bytes.subarray(keptTo)]);
}

interface FoundText {
  readonly keyword: string;
  /** As it stands in the file. */
  readonly text: Buffer;
  readonly isDeflated: boolean;
}

/** Null for what is no text. `zTXt`: method, text. `iTXt`: whether it is deflated, method, two names that end in NUL, text. */
function readText({ type, data }: PngChunk): FoundText | null {
  if (type !== "tEXt" && type !== "zTXt" && type !== "iTXt") return null;
  const nul = data.indexOf(0);
  if (nul < 1) return null;
  const rest = data.subarray(nul + 1);
  const isDeflated = type === "zTXt" || (type === "iTXt" && rest[0] !== 0);
  const start = { tEXt: 0, zTXt: 1, iTXt: rest.indexOf(0, rest.indexOf(0, 2) + 1) + 1 }[type];
  return { keyword: data.toString("latin1", 0, nul), text: rest.subarray(start), isDeflated };
}

/** Most programs write UTF-8, also where the format says Latin-1. */
function decode(text: Buffer): string {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(text);
  } catch {
    return text.toString("latin1");
  }
}
