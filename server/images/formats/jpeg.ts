import { uploadLimits } from "../limits.ts";
import { assertFewParts, type Container, unreadable, usual } from "./container.ts";

const marker = { eoi: 0xd9, sos: 0xda } as const;

/** Scans of a progressive picture that together take about as long as a plain decode. */
const scansPerPass = 4;

interface Segment {
  readonly marker: number;
  readonly payload: Buffer;
  /** Offset of the first byte after the segment. */
  readonly end: number;
}

interface Frame {
  readonly widthPx: number;
  readonly heightPx: number;
  readonly isProgressive: boolean;
  readonly components: number;
}

/**
 * Walks the segments from SOI to EOI; what follows EOI (a second picture, a film) is never read. A file without EOI is
 * `isCut` when its last scan has begun. Throws `upload_unreadable`.
 */
export function readJpeg(bytes: Buffer): Container {
  let frame: Frame | null = null;
  let scans = 0;
  let parts = 0;
  const finished = new Set<string>();
  for (let segment = nextSegment(bytes, 2); segment.marker !== marker.eoi;) {
    parts += 1;
    assertFewParts(parts);
    let offset: number | null = segment.end;
    if (isFrameStart(segment.marker)) frame ??= readFrame(segment);
    if (segment.marker === marker.sos) {
      scans += 1;
      if (scans > uploadLimits.jpegScans) throw unreadable("too many scans");
      for (const done of finishedBy(segment.payload)) finished.add(done);
      offset = endOfScan(bytes, offset);
    }
    if (offset === null) return containerOf(wholeEnough(frame, finished), { scans, parts, isCut: true });
    segment = nextSegment(bytes, offset);
  }
  return containerOf(frame, { scans, parts, isCut: false });
}

function containerOf(
  frame: Frame | null,
  { scans, parts, isCut }: { readonly scans: number; readonly parts: number; readonly isCut: boolean },
): Container {
  if (!frame) throw unreadable("no frame");
  const { widthPx, heightPx } = frame;
  return {
    ...usual,
    format: "jpeg",
    widthPx,
    heightPx,
    passes: Math.ceil(scans / scansPerPass),
    parts,
    isCut,
  };
}

/** A cut picture in passes is nearly whole only in the last pass; one in rows is judged by its rows when it is decoded. */
function wholeEnough(frame: Frame | null, finished: ReadonlySet<string>): Frame | null {
  if (frame?.isProgressive && finished.size < 2 * frame.components) throw unreadable("truncated");
  return frame;
}

/** The coefficients that a scan brings to their full precision, by component: first (0) and last (63). */
function finishedBy(payload: Buffer): string[] {
  const count = payload[0] ?? 0;
  const [first, last, precision] = payload.subarray(1 + 2 * count);
  if (first === undefined || last === undefined || ((precision ?? 0) & 0x0f) !== 0) return [];
  const components = Array.from({ length: count }, (_none, at) => payload[1 + 2 * at] ?? 0);
  return components.flatMap((id) => [
    ...(first === 0 ? [`${id} first`] : []),
    ...(last === 63 ? [`${id} last`] : []),
  ]);
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

/** Compressed data runs to the next FF that is neither stuffed (FF 00) nor a restart (FF D0..D7); null: to the file's end. */
function endOfScan(bytes: Buffer, from: number): number | null {
  // Byte by byte: to look for each FF by itself takes ten times as long in a file of nothing else.
  for (let offset = from; offset + 1 < bytes.length; offset += 1) {
    if (bytes[offset] !== 0xff) continue;
    const code = bytes[offset + 1] ?? 0;
    if (code !== 0 && !(code >= 0xd0 && code <= 0xd7)) return offset;
    offset += 1;
  }
  return null;
}

function isStandalone(code: number): boolean {
  return code === 0 || code === 1 || (code >= 0xd0 && code <= marker.eoi);
}

function isFrameStart(code: number): boolean {
  return code >= 0xc0 && code <= 0xcf && code !== 0xc4 && code !== 0xc8 && code !== 0xcc;
}

function readFrame({ marker: code, payload }: Segment): Frame {
  if (payload.length < 6) throw unreadable("bad frame");
  const isProgressive = code % 4 === 2;
  const [heightPx, widthPx] = [payload.readUInt16BE(1), payload.readUInt16BE(3)];
  return { heightPx, widthPx, isProgressive, components: payload[5] ?? 0 };
}

/** The same file with the end mark that it lacks. */
export function withJpegEnd(bytes: Buffer): Buffer {
  return Buffer.concat([bytes, Buffer.from([0xff, marker.eoi])]);
}
