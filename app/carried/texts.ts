/** Bounds of what is read from a file that anybody may have made. */
export const carriedLimits = {
  fileBytes: 100 * 1_024 ** 2,
  /** Chunks, segments or entries. */
  parts: 20_000,
  texts: 64,
  /** Of one text, after it was inflated. */
  textBytes: 2 * 1_024 ** 2,
  allBytes: 8 * 1_024 ** 2,
} as const;

/** A text that stands beside the pixels of a file, by the name that the format gives it. */
export interface CarriedText {
  readonly name: string;
  readonly text: string;
}

/**
 * The texts in a PNG, JPEG or WebP, in the order of the file. No pixel is decoded, and nothing leaves the browser. A damaged
 * or hostile file gives what stands before its damage, within the limits; another format gives none.
 */
export async function readCarriedTexts(file: Blob): Promise<readonly CarriedText[]> {
  const read = readerFor(new Uint8Array(await file.slice(0, 12).arrayBuffer()));
  if (read === null || file.size > carriedLimits.fileBytes) return [];
  const found = new Found();
  try {
    await read(new Uint8Array(await file.arrayBuffer()), found);
  } catch (error) {
    // A read behind the end of the file: it is damaged.
    if (!(error instanceof RangeError)) throw error;
  }
  return found.texts;
}

type Read = (bytes: Uint8Array, found: Found) => Promise<void> | void;

/** By the first bytes; null for another format. */
function readerFor(head: Uint8Array): Read | null {
  if (startsWith(head, 0, "\u0089PNG\r\n\u001a\n")) return readPng;
  if (startsWith(head, 0, "\u00ff\u00d8\u00ff")) return readJpeg;
  return startsWith(head, 0, "RIFF") && startsWith(head, 8, "WEBP") ? readWebp : null;
}

/** The texts found so far, within the limits. */
class Found {
  readonly texts: CarriedText[] = [];
  #bytes = 0;

  /** Of what is still taken, bytes; 0 when there is enough. */
  get roomBytes(): number {
    if (this.texts.length >= carriedLimits.texts) return 0;
    return Math.min(carriedLimits.textBytes, carriedLimits.allBytes - this.#bytes);
  }

  add(name: string, bytes: Uint8Array, decode: (bytes: Uint8Array) => string = decodeText): void {
    if (bytes.length === 0 || bytes.length > this.roomBytes) return;
    this.#bytes += bytes.length;
    this.texts.push({ name, text: decode(bytes).replaceAll("\0", "") });
  }
}

const viewOf = (bytes: Uint8Array) => new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);

function startsWith(bytes: Uint8Array, at: number, text: string): boolean {
  return latin(bytes.subarray(at, at + text.length)) === text;
}

const latin = (bytes: Uint8Array) => String.fromCharCode(...bytes.subarray(0, 256));

/** Most programs write UTF-8, also where the format says Latin-1. */
function decodeText(bytes: Uint8Array): string {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    return new TextDecoder("latin1").decode(bytes);
  }
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
  if (type === "zTXt") return found.add(name, await inflate(rest.subarray(1), found.roomBytes));
  // Flag and method of compression, language NUL, translated keyword NUL, text.
  const [, afterLanguage] = cutAtNul(rest.subarray(2));
  const [, text] = cutAtNul(afterLanguage);
  found.add(name, rest[0] === 1 ? await inflate(text, found.roomBytes) : text);
}

function cutAtNul(bytes: Uint8Array): readonly [before: Uint8Array, after: Uint8Array] {
  const nul = bytes.indexOf(0);
  return nul < 0 ? [bytes, bytes.subarray(bytes.length)] : [bytes.subarray(0, nul), bytes.subarray(nul + 1)];
}

const none = new Uint8Array();
/** A piece inflates to 1,032 times its size at most, and all of that before anybody can stop it. */
const pieceBytes = 2_048;

/** The inflated bytes; none where they would be more than the limit, or are damaged. */
async function inflate(compressed: Uint8Array, limitBytes: number): Promise<Uint8Array> {
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
      if (done) return await joined(parts);
      bytes += value.length;
      if (bytes > limitBytes) {
        await reader.cancel();
        return none;
      }
      parts.push(value);
    }
  } catch {
    return none;
  }
}

async function joined(parts: readonly Uint8Array[]): Promise<Uint8Array> {
  return new Uint8Array(await new Blob(parts.map((part) => part.slice())).arrayBuffer());
}

const jpeg = { comment: 0xfe, app1: 0xe1, startOfScan: 0xda, end: 0xd9 } as const;

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
    if (marker === jpeg.app1 && startsWith(data, 0, "Exif\0\0")) readExif(data, found);
    at = end;
  }
}

function readWebp(bytes: Uint8Array, found: Found): void {
  const view = viewOf(bytes);
  let at = 12;
  for (let parts = 0; parts < carriedLimits.parts && at + 8 <= bytes.length; parts += 1) {
    const size = view.getUint32(at + 4, true);
    if (startsWith(bytes, at, "EXIF")) readExif(bytes.subarray(at + 8, at + 8 + size), found);
    at += 8 + size + (size % 2);
  }
}

const tag = { description: 0x010e, exif: 0x8769, userComment: 0x9286 } as const;
const ascii = 2;
const directoryEntries = 512;

/** The texts of a TIFF of camera data: those of its first directory, and the comment of the directory below it. */
function readExif(data: Uint8Array, found: Found): void {
  const tiff = startsWith(data, 0, "Exif\0\0") ? data.subarray(6) : data;
  const isLittle = startsWith(tiff, 0, "II");
  if (!isLittle && !startsWith(tiff, 0, "MM")) return;
  const view = viewOf(tiff);
  const main = entriesOf(view, view.getUint32(4, isLittle), isLittle);
  for (const entry of main) if (entry.type === ascii) found.add(`exif ${entry.tag}`, bytesOf(tiff, entry));
  const below = main.find((entry) => entry.tag === tag.exif);
  if (below === undefined) return;
  for (const entry of entriesOf(view, below.value, isLittle))
    if (entry.tag === tag.userComment) found.add("comment", bytesOf(tiff, entry), decodeComment);
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

function bytesOf(tiff: Uint8Array, { count, value, at }: Entry): Uint8Array {
  const start = count > 4 ? value : at;
  return start + count > tiff.length ? none : tiff.subarray(start, start + count);
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
