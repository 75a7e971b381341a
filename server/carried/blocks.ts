import {
  carriedLimits,
  type CarriedText,
  decodeText,
  Found,
  latin,
  none,
  passUnlessDamage,
  startsWith,
  viewOf,
  xmp,
} from "./text-list.ts";

/** A block of a file of another format. */
export interface SideBlock {
  readonly kind: "exif" | "iptc" | "xmp";
  readonly data: Uint8Array;
}

/** The texts of blocks that a caller found in a file of another format. */
export function textsOfBlocks(blocks: readonly SideBlock[]): readonly CarriedText[] {
  const found = new Found();
  for (const { kind, data } of blocks)
    if (kind === "exif") readExif(data, found);
    else if (kind === "iptc") readPhotoshop(data, found);
    else found.add(xmp, data);
  return found.texts;
}

const tag = { xmp: 0x02bc, iptc: 0x83bb, exif: 0x8769, userComment: 0x9286 } as const;
/** When the picture was taken and when it was digitized: the times, their offsets from UTC and their parts of a second. */
const timeTags = [0x9003, 0x9004, 0x9011, 0x9012, 0x9291, 0x9292];
const [ascii, long] = [2, 4];
/** Title, comment, author, keywords and subject as Windows writes them, in UTF-16. */
const isOfWindows = (name: number) => name >= 0x9c9b && name <= 0x9c9f;
const directoryEntries = 512;

/** The texts of a TIFF or of camera data, whose damage ends them alone. */
export function readExif(data: Uint8Array, found: Found): void {
  try {
    readDirectories(data, found);
  } catch (error) {
    passUnlessDamage(error);
  }
}

/** Those of the first directory, and the comment and the times of the directory below it. */
function readDirectories(data: Uint8Array, found: Found): void {
  const tiff = startsWith(data, 0, "Exif\0\0") ? data.subarray(6) : data;
  const isLittle = startsWith(tiff, 0, "II");
  if (!isLittle && !startsWith(tiff, 0, "MM")) return;
  if (!found.startExif()) return;
  const view = viewOf(tiff);
  const main = entriesOf(view, view.getUint32(4, isLittle), isLittle);
  for (const entry of main) {
    const bytes = valueOf(tiff, entry);
    if (entry.type === ascii) found.add(`exif ${entry.tag}`, bytes);
    if (isOfWindows(entry.tag)) found.add(`exif ${entry.tag}`, bytes, decodeLittle);
    if (entry.tag === tag.xmp) found.add(xmp, bytes);
  }
  // All entries may point at the same bytes.
  const ofIptc = main.find((entry) => entry.tag === tag.iptc);
  if (ofIptc !== undefined) readIptc(valueOf(tiff, ofIptc), found);
  const below = main.find((entry) => entry.tag === tag.exif);
  if (below) readInner(tiff, entriesOf(view, below.value, isLittle), found);
}

function readInner(tiff: Uint8Array, entries: readonly Entry[], found: Found): void {
  for (const entry of entries)
    if (entry.tag === tag.userComment) found.add("comment", valueOf(tiff, entry), decodeComment);
    else if (timeTags.includes(entry.tag)) found.add(`exif ${entry.tag}`, valueOf(tiff, entry));
}

interface Entry {
  readonly tag: number;
  readonly type: number;
  /** Of bytes, for the types that are read here. */
  readonly count: number;
  readonly value: number;
  /** Where the value itself stands, for one of four bytes at most. */
  readonly at: number;
}

function entriesOf(view: DataView, start: number, isLittle: boolean): Entry[] {
  const count = Math.min(view.getUint16(start, isLittle), directoryEntries);
  return Array.from({ length: count }, (_, nth) => {
    const at = start + 2 + 12 * nth;
    return {
      tag: view.getUint16(at, isLittle),
      type: view.getUint16(at + 2, isLittle),
      count: view.getUint32(at + 4, isLittle),
      value: view.getUint32(at + 8, isLittle),
      at: at + 8,
    };
  });
}

function valueOf(tiff: Uint8Array, { count, type, value, at }: Entry): Uint8Array {
  const size = type === long ? 4 * count : count;
  const start = size > 4 ? value : at;
  return start + size > tiff.length ? none : tiff.subarray(start, start + size);
}

const decodeLittle = (bytes: Uint8Array) => new TextDecoder("utf-16le").decode(bytes);

/** Blocks of Photoshop: `8BIM`, number, name, size and data, of which names and data end at an even place. */
export function readPhotoshop(data: Uint8Array, found: Found): void {
  const view = viewOf(data);
  let at = 0;
  for (
    let parts = 0;
    parts < carriedLimits.parts && startsWith(data, at, "8BIM") && at + 12 <= data.length;
    parts += 1
  ) {
    const name = 1 + (data[at + 6] ?? 0);
    const start = at + 6 + name + (name % 2) + 4;
    if (start > data.length) return;
    const size = view.getUint32(start - 4);
    if (view.getUint16(at + 4) === iptcBlock) readIptc(data.subarray(start, start + size), found);
    at = start + size + (size % 2);
  }
}

const iptcBlock = 0x0404;
const mostIptcBytes = 131_072;
const lineEnd = 10;
/** Of its second record: title, keyword, headline, caption, day and time of making. */
const iptc = { record: 2, keyword: 25, texts: new Set([5, 55, 60, 105, 120]) } as const;

/** Keywords stand one by one, and are lines of one text. */
function readIptc(whole: Uint8Array, found: Found): void {
  if (found.roomBytes <= 0) return;
  const data = whole.subarray(0, mostIptcBytes);
  const view = viewOf(data);
  const keywords: Uint8Array[] = [];
  let at = 0;
  for (let parts = 0; parts < carriedLimits.parts && at + 5 <= data.length && data[at] === 0x1c; parts += 1) {
    const [record, name, end] = [data[at + 1], data[at + 2] ?? 0, at + 5 + view.getUint16(at + 3)];
    if (end > data.length) break;
    const value = data.subarray(at + 5, end);
    if (record === iptc.record && iptc.texts.has(name)) found.add(`iptc ${name}`, value);
    if (record === iptc.record && name === iptc.keyword) keywords.push(value);
    at = end;
  }
  found.add(`iptc ${iptc.keyword}`, linesOf(keywords));
}

function linesOf(values: readonly Uint8Array[]): Uint8Array {
  const lines = new Uint8Array(values.reduce((size, { length }) => size + length + 1, 0)).fill(lineEnd);
  let at = 0;
  for (const value of values) {
    lines.set(value, at);
    at += value.length + 1;
  }
  return lines;
}

const wide = /^UNICODE/;
const named = /^(?:UNICODE|ASCII|JIS)|^\0{8}/;

/** Eight bytes that name the encoding, then the text. */
function decodeComment(bytes: Uint8Array): string {
  const head = latin(bytes.subarray(0, 8));
  const text = named.test(head) ? bytes.subarray(8) : bytes;
  if (!wide.test(head)) return decodeText(text);
  // Programs do not agree on the order of its bytes: the right one gives more plain letters.
  const [big, little] = ["utf-16be", "utf-16le"].map((order) => new TextDecoder(order).decode(text));
  return plainLetters(big ?? "") >= plainLetters(little ?? "") ? (big ?? "") : (little ?? "");
}

const plainLetters = (text: string) => text.slice(0, 2_000).match(/[\x20-\x7e]/g)?.length ?? 0;
