import { readExif, readPhotoshop } from "./blocks.ts";
import {
  carriedLimits,
  type CarriedText,
  Found,
  latin,
  none,
  passUnlessDamage,
  startsWith,
  viewOf,
  xmp,
} from "./text-list.ts";

/**
 * The texts in a PNG, JPEG, WebP or TIFF, in the order of the file. No pixel is decoded, and nothing leaves the process. A
 * damaged or hostile file gives what stands before its damage, within the limits; another format gives none.
 */
export async function readCarriedTexts(file: Blob | Uint8Array): Promise<readonly CarriedText[]> {
  const isBlob = file instanceof Blob;
  const read = readerFor(isBlob ? await bytesOf(file.slice(0, 12)) : file.subarray(0, 12));
  if (read === null || (isBlob ? file.size : file.length) > carriedLimits.fileBytes) return [];
  const found = new Found();
  try {
    await read(isBlob ? await bytesOf(file) : file, found);
  } catch (error) {
    passUnlessDamage(error);
  }
  return found.texts;
}

const bytesOf = async (file: Blob) => new Uint8Array(await file.arrayBuffer());

type Read = (bytes: Uint8Array, found: Found) => Promise<void> | void;

/** By the first bytes; null for another format. */
function readerFor(head: Uint8Array): Read | null {
  if (startsWith(head, 0, "\u0089PNG\r\n\u001a\n")) return readPng;
  if (startsWith(head, 0, "\u00ff\u00d8\u00ff")) return readJpeg;
  if (startsWith(head, 0, "II*\0") || startsWith(head, 0, "MM\0*")) return readExif;
  return startsWith(head, 0, "RIFF") && startsWith(head, 8, "WEBP") ? readWebp : null;
}

async function readPng(bytes: Uint8Array, found: Found): Promise<void> {
  const view = viewOf(bytes);
  let at = 8;
  for (let parts = 0; parts < carriedLimits.parts && at + 12 <= bytes.length; parts += 1) {
    const end = at + 12 + view.getUint32(at);
    const type = latin(bytes.subarray(at + 4, at + 8));
    if (end > bytes.length || type === "IEND") return;
    await readChunk(type, bytes.subarray(at + 8, end - 4), found);
    at = end;
  }
}

async function readChunk(type: string, data: Uint8Array, found: Found): Promise<void> {
  if (type === "eXIf") readExif(data, found);
  if (type !== "tEXt" && type !== "zTXt" && type !== "iTXt") return;
  const [keyword, rest] = cutAtNul(data);
  const name = latin(keyword);
  if (type === "tEXt") return found.add(name, rest);
  if (type === "zTXt") return found.add(name, await inflate(rest.subarray(1), found));
  // Flag and method of compression, language NUL, translated keyword NUL, text.
  const [, afterLanguage] = cutAtNul(rest.subarray(2));
  const [, text] = cutAtNul(afterLanguage);
  found.add(name, rest[0] === 1 ? await inflate(text, found) : text);
}

function cutAtNul(bytes: Uint8Array): readonly [before: Uint8Array, after: Uint8Array] {
  const nul = bytes.indexOf(0);
  return nul < 0 ? [bytes, bytes.subarray(bytes.length)] : [bytes.subarray(0, nul), bytes.subarray(nul + 1)];
}

/** A piece inflates to 1,032 times its size at most, and all of that before anybody can stop it. */
const pieceBytes = 2_048;

/** The inflated bytes; none where they would be more than the limit, or are damaged. */
async function inflate(compressed: Uint8Array, found: Found): Promise<Uint8Array> {
  const limitBytes = found.roomBytes;
  if (limitBytes <= 0) return none;
  let at = 0;
  const pieces = new ReadableStream<BufferSource>({
    pull(controller) {
      // A copy, since only a buffer that nothing shares is a source of bytes.
      if (at < compressed.length) controller.enqueue(compressed.slice(at, (at += pieceBytes)));
      else controller.close();
    },
  });
  const reader = pieces.pipeThrough(new DecompressionStream("deflate")).getReader();
  const parts: Uint8Array[] = [];
  let bytes = 0;
  try {
    for (;;) {
      const { value, done } = await reader.read();
      if (done && bytes > 0) return await joined(parts);
      if (done) break;
      bytes += value.length;
      if (bytes > limitBytes) break;
      parts.push(value);
    }
    await reader.cancel();
  } catch {
    // It is damaged.
  }
  found.spend(bytes);
  return none;
}

async function joined(parts: readonly Uint8Array[]): Promise<Uint8Array> {
  return new Uint8Array(await new Blob(parts.map((part) => part.slice())).arrayBuffer());
}

const jpeg = { comment: 0xfe, app1: 0xe1, app13: 0xed, startOfScan: 0xda, end: 0xd9 } as const;

/** By the names with which they begin. */
function readSegment(data: Uint8Array, found: Found): void {
  if (startsWith(data, 0, "Exif\0\0")) readExif(data, found);
  if (startsWith(data, 0, xmpSegment)) found.add(xmp, data.subarray(xmpSegment.length));
  if (startsWith(data, 0, photoshopSegment)) readPhotoshop(data.subarray(photoshopSegment.length), found);
}

const xmpSegment = "http://ns.adobe.com/xap/1.0/\0";
const photoshopSegment = "Photoshop 3.0\0";

/** The segments before the pixels. */
function readJpeg(bytes: Uint8Array, found: Found): void {
  const view = viewOf(bytes);
  let at = 2;
  for (let parts = 0; parts < carriedLimits.parts && at + 4 <= bytes.length; parts += 1) {
    const marker = view.getUint8(at + 1);
    if (view.getUint8(at) !== 0xff || marker === jpeg.startOfScan || marker === jpeg.end) return;
    const end = at + 2 + view.getUint16(at + 2);
    if (end > bytes.length) return;
    const data = bytes.subarray(at + 4, end);
    if (marker === jpeg.comment) found.add("comment", data);
    if (marker === jpeg.app1 || marker === jpeg.app13) readSegment(data, found);
    at = end;
  }
}

function readWebp(bytes: Uint8Array, found: Found): void {
  const view = viewOf(bytes);
  let at = 12;
  for (let parts = 0; parts < carriedLimits.parts && at + 8 <= bytes.length; parts += 1) {
    const size = view.getUint32(at + 4, true);
    if (startsWith(bytes, at, "EXIF")) readExif(bytes.subarray(at + 8, at + 8 + size), found);
    if (startsWith(bytes, at, "XMP ")) found.add(xmp, bytes.subarray(at + 8, at + 8 + size));
    at += 8 + size + (size % 2);
  }
}
