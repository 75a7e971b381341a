import { uploadLimits } from "../limits.ts";
import { assertFewParts, unreadable, unsupported, type Container } from "./container.ts";

const marker = { soi: 0xd8, eoi: 0xd9, sos: 0xda, app0: 0xe0, comment: 0xfe } as const;

/** Scans of a progressive picture that together take about as long as a plain decode. */
const scansPerPass = 4;

interface Segment {
  readonly marker: number;
  readonly payload: Buffer;
  /** Offset of the first byte after the segment. */
  readonly end: number;
}

/** Walks the segments from SOI to EOI. Throws `upload_unreadable` when the file ends before EOI. */
export function readJpeg(bytes: Buffer): Container {
  if (bytes.readUInt16BE(0) !== 0xffd8) throw unreadable("no JPEG start");
  const extras: Buffer[] = [];
  let size: { widthPx: number; heightPx: number } | null = null;
  let scans = 0;
  let offset = 2;
  let parts = 0;
  for (;;) {
    parts += 1;
    assertFewParts(parts);
    const segment = nextSegment(bytes, offset);
    offset = segment.end;
    if (segment.marker === marker.eoi) break;
    if (segment.marker === marker.sos) {
      scans += 1;
      if (scans > uploadLimits.jpegScans) throw unreadable("too many scans");
      offset = endOfScan(bytes, offset);
    } else if (isFrameStart(segment.marker)) size ??= frameSize(segment.payload);
    else if (isMetadata(segment.marker)) extras.push(checkedMetadata(segment));
  }
  if (!size) throw unreadable("no frame");
  extras.push(bytes.subarray(offset));
  const passes = Math.ceil(scans / scansPerPass);
  return { format: "jpeg", ...size, isAnimated: false, isLossless: false, passes, parts, extras };
}

function nextSegment(bytes: Buffer, from: number): Segment {
  let offset = bytes.indexOf(0xff, from);
  if (offset < 0) throw unreadable("truncated");
  while (bytes[offset] === 0xff) offset += 1;
  const code = bytes[offset];
  if (code === undefined) throw unreadable("truncated");
  if (isStandalone(code)) return { marker: code, payload: Buffer.alloc(0), end: offset + 1 };
  if (offset + 3 > bytes.length) throw unreadable("truncated");
  const end = offset + 1 + bytes.readUInt16BE(offset + 1);
  if (end > bytes.length || end < offset + 3) throw unreadable("truncated");
  return { marker: code, payload: bytes.subarray(offset + 3, end), end };
}

/** Compressed data runs to the next FF that is neither stuffed (FF 00) nor a restart (FF D0..D7). */
function endOfScan(bytes: Buffer, from: number): number {
  let offset = from;
  for (;;) {
    offset = bytes.indexOf(0xff, offset);
    const code = offset < 0 ? undefined : bytes[offset + 1];
    if (code === undefined) throw unreadable("truncated");
    if (code !== 0 && !(code >= 0xd0 && code <= 0xd7)) return offset;
    offset += 2;
  }
}

function isStandalone(code: number): boolean {
  return code === 0 || code === 1 || (code >= 0xd0 && code <= marker.eoi);
}

function isFrameStart(code: number): boolean {
  return code >= 0xc0 && code <= 0xcf && code !== 0xc4 && code !== 0xc8 && code !== 0xcc;
}

function isMetadata(code: number): boolean {
  return (code >= marker.app0 && code <= 0xef) || code === marker.comment;
}

/** A JFIF header has one right length; scripts that pose as JPEG need another (FF E0 "/*"). */
function checkedMetadata(segment: Segment): Buffer {
  const { payload } = segment;
  const isJfif = segment.marker === marker.app0 && payload.toString("latin1", 0, 5) === "JFIF\0";
  if (isJfif && payload.length !== 14 + 3 * (payload[12] ?? 0) * (payload[13] ?? 0)) {
    throw unsupported("a script");
  }
  return payload;
}

function frameSize(payload: Buffer): { widthPx: number; heightPx: number } {
  if (payload.length < 6) throw unreadable("bad frame");
  return { heightPx: payload.readUInt16BE(1), widthPx: payload.readUInt16BE(3) };
}
