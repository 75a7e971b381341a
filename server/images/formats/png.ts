import { Writable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { crc32, createInflate, constants as zlib, inflateSync } from "node:zlib";
import { type ColourTag, tagOfCodes, tagOfGamma } from "../colour.ts";
import { uploadLimits } from "../limits.ts";
import { assertFewParts, type Container, unreadable, usual } from "./container.ts";

export const pngSignature = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);

export interface PngChunk {
  readonly type: string;
  readonly data: Buffer;
  /** Offset of the first byte after the chunk; behind the file's end for a chunk that is cut. */
  readonly end: number;
}

export const isPng = (bytes: Buffer): boolean => bytes.subarray(0, pngSignature.length).equals(pngSignature);

/** The chunks up to and with IEND. After pixel data the file may end early: its last chunk may be cut. Throws `upload_unreadable`. */
export function* pngChunks(bytes: Buffer): Generator<PngChunk> {
  if (!isPng(bytes)) throw unreadable("no PNG start");
  let offset = 8;
  let hasPixels = false;
  for (;;) {
    const isHeadThere = offset + 12 <= bytes.length;
    const end = isHeadThere ? offset + 12 + bytes.readUInt32BE(offset) : offset;
    const type = bytes.toString("latin1", offset + 4, offset + 8);
    const isWhole = isHeadThere && end <= bytes.length;
    if (!isWhole && !hasPixels && type !== "IDAT") throw unreadable("truncated");
    if (!isHeadThere) return;
    yield { type, data: bytes.subarray(offset + 8, Math.min(end - 4, bytes.length)), end };
    if (type === "IEND" || !isWhole) return;
    hasPixels ||= type === "IDAT";
    offset = end;
  }
}

/** No PNG of other than 8 bits, of several pictures or with a direction, which it would lose when it is written anew. */
export function isUsualPng(bytes: Buffer): boolean {
  if (!isPng(bytes)) return true;
  const bitDepth = bytes[24];
  const odd = new Set(["acTL", "eXIf"]);
  return bitDepth === 8 && !pngChunks(bytes).some(({ type }) => odd.has(type));
}

/** Reads size, animation and colours. Texts and dates are not looked at: they are dropped. */
export function readPng(bytes: Buffer): Container {
  let header: PngHeader | null = null;
  const colours = new Map<string, Buffer>();
  let chunks = 0;
  let isAnimated = false;
  let last = "";
  for (const { type, data } of pngChunks(bytes)) {
    chunks += 1;
    assertFewParts(chunks);
    last = type;
    header ??= readHeader(type, data);
    isAnimated ||= type === "acTL";
    if (colourChunks.has(type)) colours.set(type, data);
  }
  if (!header) throw unreadable("no header");
  const facts = { isAnimated, isLossless: true, isCut: last !== "IEND", parts: chunks };
  return { ...usual, format: "png", ...header, ...facts, colour: colourOf(colours) };
}

type PngHeader = Pick<Container, "widthPx" | "heightPx" | "passes">;

/** An interlaced picture is read in seven passes, each of which goes over all of its rows. */
const interlacePasses = 7;

function readHeader(type: string, data: Buffer): PngHeader {
  if (type !== "IHDR" || data.length !== 13) throw unreadable("no header");
  return {
    widthPx: data.readUInt32BE(0),
    heightPx: data.readUInt32BE(4),
    passes: data[12] === 0 ? 1 : interlacePasses,
  };
}

const colourChunks = new Set(["cICP", "iCCP", "sRGB", "gAMA", "cHRM"]);

/** In the order in which the chunks count: codes, profile, sRGB, then gamma and primaries. Damaged ones are dropped. */
function colourOf(chunks: ReadonlyMap<string, Buffer>): ColourTag | null {
  const [codes, gamma, primaries] = [chunks.get("cICP"), chunks.get("gAMA"), chunks.get("cHRM")];
  if (codes?.length === 4) return tagOfCodes(codes.readUInt8(0), codes.readUInt8(1));
  if (chunks.has("iCCP") || chunks.has("sRGB")) return null;
  const points = primaries?.length === 32 ? primaries : null;
  return tagOfGamma(
    gamma?.length === 4 ? gamma.readUInt32BE(0) / 100_000 : null,
    points && Array.from({ length: 8 }, (_none, at) => points.readUInt32BE(4 * at) / 100_000),
  );
}

/** What the decoder needs: pixels, their colours, and the orientation in the camera's data. */
const neededChunks = new Set(["IHDR", "PLTE", "tRNS", "iCCP", "sRGB", "sBIT", "eXIf", "IDAT"]);
/** Larger camera data holds more than an orientation. */
const exifBytes = 65_536;

/** The same picture without texts, dates and whatever else stands beside it, and with the end that it may lack. */
export function plainPng(bytes: Buffer): Buffer {
  const parts: Buffer[] = [pngSignature];
  let profiles = 0;
  for (const { type, data, end } of pngChunks(bytes)) {
    if (!neededChunks.has(type) || (type === "eXIf" && data.length > exifBytes)) continue;
    // A second profile is none, and to try it would cost as much as the first.
    if (type === "iCCP" && (++profiles > 1 || !isUsableProfile(data))) continue;
    parts.push(end > bytes.length ? pngChunk(type, data) : bytes.subarray(end - data.length - 12, end));
  }
  return Buffer.concat([...parts, pngChunk("IEND", Buffer.alloc(0))]);
}

/** Name NUL method, then zlib data. A profile that is damaged or inflates to too much is left out. */
export function isUsableProfile(data: Buffer): boolean {
  const profile = inflateAtMost(data.subarray(data.indexOf(0) + 2), uploadLimits.profileBytes);
  return profile !== null && profile.length > 0;
}

/** Inflated zlib data; null for damaged data and where it is more than `mostBytes`. */
export function inflateAtMost(data: Buffer, mostBytes: number): Buffer | null {
  if (mostBytes < 1) return null;
  try {
    return inflateSync(data, { maxOutputLength: mostBytes });
  } catch {
    return null;
  }
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
 * Throws `upload_unreadable` when the pixel data inflates to more than the header's size needs (decoders inflate all of
 * it, 25 GB from 25 MB), or when a cut file lacks more than some last rows. Other damage is left to the decoder.
 */
export async function boundPngPixels(bytes: Buffer, isCut: boolean): Promise<void> {
  const compressed: Buffer[] = [];
  let needed: PixelBytes | null = null;
  for (const { type, data } of pngChunks(bytes)) {
    if (type === "IHDR") needed = pixelBytes(data);
    if (type === "IDAT") compressed.push(data);
  }
  const isSmall = compressed.reduce((sum, part) => sum + part.length, 0) < harmlessBytes;
  if (!needed || (isSmall && !isCut)) return;
  const inflatedBytes = await countInflated(compressed, needed.most);
  if (inflatedBytes > needed.most) throw unreadable("more pixels than its size");
  if (isCut && inflatedBytes < (1 - uploadLimits.missingShare) * needed.least) throw unreadable("truncated");
}

interface PixelBytes {
  readonly least: number;
  readonly most: number;
}

/** Rows with their filter byte; interlacing splits a row into at most seven, each rounded up. */
function pixelBytes(header: Buffer): PixelBytes {
  const widthPx = header.readUInt32BE(0);
  const heightPx = header.readUInt32BE(4);
  const samples = samplesByColourType.get(header[9] ?? 0) ?? 4;
  const least = Math.ceil((widthPx * samples * (header[8] ?? 16)) / 8) * heightPx;
  return { least, most: least + 16 * (heightPx + 1) };
}

async function countInflated(compressed: readonly Buffer[], limitBytes: number): Promise<number> {
  let inflatedBytes = 0;
  const enough = new AbortController();
  const counter = new Writable({
    write(chunk: Buffer, _encoding, done) {
      inflatedBytes += chunk.length;
      if (inflatedBytes > limitBytes) enough.abort();
      done();
    },
  });
  const inflate = createInflate({ chunkSize: 262_144, finishFlush: zlib.Z_SYNC_FLUSH });
  try {
    await pipeline(compressed, inflate, counter, { signal: enough.signal });
  } catch {
    // Either aborted above or damaged, and the decoder reports it.
  }
  return inflatedBytes;
}

/** One chunk with its checksum. */
export function pngChunk(type: string, data: Buffer): Buffer {
  const body = Buffer.concat([Buffer.from(type, "latin1"), data]);
  const chunk = Buffer.alloc(body.length + 8);
  chunk.writeUInt32BE(data.length, 0);
  body.copy(chunk, 4);
  chunk.writeUInt32BE(crc32(body), body.length + 4);
  return chunk;
}
