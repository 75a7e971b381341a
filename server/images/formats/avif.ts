import { assertFewParts, unreadable, unsupported, type Container } from "./container.ts";

interface Box {
  readonly type: string;
  readonly data: Buffer;
  readonly end: number;
}

/** Reads the outer boxes, the brands and every declared picture size. The longest sides count. */
export function readAvif(bytes: Buffer): Container {
  const boxes = outerBoxes(bytes);
  const fileType = boxes[0];
  const meta = boxes.find(({ type }) => type === "meta");
  if (fileType?.type !== "ftyp" || !meta) throw unreadable("no AVIF start");
  const brands = brandsOf(fileType.data);
  if (!brands.includes("avif") && !brands.includes("avis")) throw unsupported(brands[0] ?? "unknown");
  return {
    format: "avif",
    ...largestSize(meta.data),
    isAnimated: brands[0] === "avis" || boxes.some(({ type }) => type === "moov"),
    isLossless: false,
    passes: 1,
    parts: boxes.length,
    extras: [
      ...boxes.filter(({ type }) => type !== "mdat").map(({ data }) => data),
      bytes.subarray(boxes.at(-1)?.end ?? 0),
    ],
  };
}

function outerBoxes(bytes: Buffer): Box[] {
  const boxes: Box[] = [];
  let offset = 0;
  while (offset + 8 <= bytes.length) {
    const size = bytes.readUInt32BE(offset);
    // 0 means "to the end of the file"; 64-bit sizes have no place in a file of 25 MB.
    const end = size === 0 ? bytes.length : offset + size;
    if (end > bytes.length || end < offset + 8) {
      if (boxes.some(({ type }) => type === "mdat")) return boxes;
      throw unreadable("truncated");
    }
    const type = bytes.toString("latin1", offset + 4, offset + 8);
    boxes.push({ type, data: bytes.subarray(offset + 8, end), end });
    assertFewParts(boxes.length);
    offset = end;
  }
  return boxes;
}

function brandsOf(data: Buffer): string[] {
  const brands = [data.toString("latin1", 0, 4)];
  for (let at = 8; at + 4 <= data.length; at += 4) brands.push(data.toString("latin1", at, at + 4));
  return brands;
}

/** `ispe` boxes: version and flags (4 bytes), width, height. */
function largestSize(meta: Buffer): { widthPx: number; heightPx: number } {
  const largest = { widthPx: 0, heightPx: 0 };
  for (let at = meta.indexOf("ispe"); at >= 0 && at + 16 <= meta.length; at = meta.indexOf("ispe", at + 4)) {
    largest.widthPx = Math.max(largest.widthPx, meta.readUInt32BE(at + 8));
    largest.heightPx = Math.max(largest.heightPx, meta.readUInt32BE(at + 12));
  }
  if (largest.widthPx === 0) throw unreadable("no size");
  return largest;
}
