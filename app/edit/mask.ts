import type { ImageView } from "@atelier/server/images";
import { sendFile } from "../uploads/send.ts";
import { drawSelection, type Point, sampleSelection, type Selection } from "./selection.ts";

/** One movement of the brush or eraser, in px of the picture. A single point is a dot. */
export interface Stroke {
  readonly mode: "paint" | "erase";
  readonly sizePx: number;
  readonly points: readonly Point[];
}

/** One step of the mask. A selection replaces the one before and lies under all strokes, whenever these were made. */
export type Mark = Stroke | Selection;

/** The selection that counts. */
export function selectionOf(marks: readonly Mark[]): Selection | null {
  return marks.findLast((mark) => mark.mode === "select") ?? null;
}

export function strokesOf(marks: readonly Mark[]): Stroke[] {
  return marks.filter((mark) => mark.mode !== "select");
}

type Context = CanvasRenderingContext2D | OffscreenCanvasRenderingContext2D;

/** Draws a stroke in the current transform of the context. An eraser clears the pixels of earlier marks. */
export function drawStroke(context: Context, { mode, sizePx, points }: Stroke, colour: string): void {
  const [first, ...rest] = points;
  if (first === undefined) return;
  context.globalCompositeOperation = mode === "paint" ? "source-over" : "destination-out";
  context.fillStyle = colour;
  context.strokeStyle = colour;
  context.lineWidth = sizePx;
  context.lineCap = "round";
  context.lineJoin = "round";
  // A canvas draws nothing for a line of length 0, so a stroke of one point needs a disc.
  context.beginPath();
  context.arc(first.x, first.y, sizePx / 2, 0, 2 * Math.PI);
  context.fill();
  context.beginPath();
  context.moveTo(first.x, first.y);
  for (const point of rest) context.lineTo(point.x, point.y);
  context.stroke();
}

const signature = Uint8Array.of(0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a);

const crcTable = Uint32Array.from({ length: 256 }, (_, index) => {
  let value = index;
  for (let bit = 0; bit < 8; bit += 1) value = value & 1 ? 0xedb88320 ^ (value >>> 1) : value >>> 1;
  return value;
});

function crc32(bytes: Uint8Array): number {
  let crc = 0xffffffff;
  for (const byte of bytes) crc = (crcTable[(crc ^ byte) & 0xff] ?? 0) ^ (crc >>> 8);
  return (crc ^ 0xffffffff) >>> 0;
}

function chunk(type: string, data: Uint8Array): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(data.length + 12);
  const view = new DataView(bytes.buffer);
  view.setUint32(0, data.length);
  bytes.set(new TextEncoder().encode(type), 4);
  bytes.set(data, 8);
  view.setUint32(data.length + 8, crc32(bytes.subarray(4, data.length + 8)));
  return bytes;
}

function header(widthPx: number, heightPx: number): Uint8Array {
  const data = new Uint8Array(13);
  const view = new DataView(data.buffer);
  view.setUint32(0, widthPx);
  view.setUint32(4, heightPx);
  // Eight bits per pixel, grey without alpha.
  data.set([8, 0, 0, 0, 0], 8);
  return data;
}

/** Grey bytes, row-major from the top; each chunk holds any number of whole rows. */
export type GreyRows = Iterable<Uint8Array<ArrayBuffer>>;

/** Puts a 0 before each row: the filter byte of PNG, for "no filter". */
function withFilterBytes(rows: Uint8Array, widthPx: number): Uint8Array<ArrayBuffer> {
  const count = rows.length / widthPx;
  const bytes = new Uint8Array(rows.length + count);
  for (let row = 0; row < count; row += 1) {
    bytes.set(rows.subarray(row * widthPx, (row + 1) * widthPx), row * (widthPx + 1) + 1);
  }
  return bytes;
}

/** Encodes a grey 8-bit PNG. A canvas can only encode RGBA, which takes four times the memory. */
export async function encodeGreyPng(widthPx: number, heightPx: number, rows: GreyRows): Promise<Blob> {
  const zlib = new CompressionStream("deflate");
  const compressed = new Response(zlib.readable).arrayBuffer();
  const writer = zlib.writable.getWriter();
  for (const band of rows) await writer.write(withFilterBytes(band, widthPx));
  await writer.close();
  const parts = [
    chunk("IHDR", header(widthPx, heightPx)),
    chunk("IDAT", new Uint8Array(await compressed)),
    chunk("IEND", new Uint8Array()),
  ];
  return new Blob([signature, ...parts], { type: "image/png" });
}

/** Rows drawn at a time: a canvas of 50 megapixels would take 200 MB. */
const bandRows = 256;

interface Size {
  readonly widthPx: number;
  readonly heightPx: number;
}

/** A mask's pixel counts from half of white on, as the engines count it. */
const leastMarked = 128;

/** Grey of drawn pixels: the drawing is white on nothing, so its alpha is the mask. */
function toGrey(rgba: Uint8ClampedArray): Uint8Array<ArrayBuffer> {
  const grey = new Uint8Array(rgba.length / 4);
  for (let index = 0; index < grey.length; index += 1)
    grey[index] = (rgba[index * 4 + 3] ?? 0) >= leastMarked ? 255 : 0;
  return grey;
}

/** The same rows; throws `mask_empty` at their end when no pixel is marked: what is left of an erased stroke can be too thin. */
export function* requireMarked(rows: GreyRows): Generator<Uint8Array<ArrayBuffer>> {
  let isMarked = false;
  for (const band of rows) {
    isMarked ||= band.some((value) => value >= leastMarked);
    yield band;
  }
  if (!isMarked) throw Object.assign(new Error("No pixel is marked."), { code: "mask_empty" });
}

function* greyBands(marks: readonly Mark[], { widthPx, heightPx }: Size): Generator<Uint8Array<ArrayBuffer>> {
  const selection = selectionOf(marks);
  const strokes = strokesOf(marks);
  for (let top = 0; top < heightPx; top += bandRows) {
    const rows = Math.min(bandRows, heightPx - top);
    const context = new OffscreenCanvas(widthPx, rows).getContext("2d", { willReadFrequently: true });
    if (context === null) throw new Error("The browser returned no canvas context.");
    if (selection !== null) {
      const part = { width: widthPx, height: heightPx, top, rows, rgb: [255, 255, 255] } as const;
      context.putImageData(new ImageData(drawSelection(selection, part), widthPx, rows), 0, 0);
    }
    context.translate(0, -top);
    for (const stroke of strokes) drawStroke(context, stroke, "#fff");
    const { data } = context.getImageData(0, 0, widthPx, rows);
    yield toGrey(data);
  }
}

/** The marks as a grey PNG at the size of the picture; white = change. */
function exportMask(marks: readonly Mark[], size: Size): Promise<Blob> {
  return encodeGreyPng(size.widthPx, size.heightPx, requireMarked(greyBands(marks, size)));
}

/** Uploads the marks as a mask; resolves with the image id of the mask, rejects with the failure. */
export async function uploadMask(
  image: Pick<ImageView, "widthPx" | "heightPx">,
  marks: readonly Mark[],
): Promise<string> {
  const file = await exportMask(marks, image);
  const sent = await sendFile({ file, name: "mask.png", role: "mask", signal: new AbortController().signal });
  if (!sent.ok) throw sent.failure;
  return sent.image.id;
}

export interface MarkHistory {
  readonly marks: readonly Mark[];
  /** Strokes that were undone; redo takes the last one. */
  readonly undone: readonly Mark[];
}

export type HistoryStep =
  | { readonly type: "add"; readonly mark: Mark }
  | { readonly type: "undo" | "redo" | "clear" };

export const emptyHistory: MarkHistory = { marks: [], undone: [] };

export function stepHistory(history: MarkHistory, step: HistoryStep): MarkHistory {
  switch (step.type) {
    case "add":
      return { marks: [...history.marks, step.mark], undone: [] };
    case "undo": {
      const last = history.marks.at(-1);
      if (last === undefined) return history;
      return { marks: history.marks.slice(0, -1), undone: [...history.undone, last] };
    }
    case "redo": {
      const next = history.undone.at(-1);
      if (next === undefined) return history;
      return { marks: [...history.marks, next], undone: history.undone.slice(0, -1) };
    }
    case "clear":
      return emptyHistory;
  }
}

/** Samples per brush radius; paint between two samples is too thin to be visible. */
const samplesPerRadius = 8;
/** Added to an eraser's radius: an eraser of the same size on the same path must leave no paint. */
const tolerancePx = 0.5;

const marked = new WeakMap<readonly Mark[], boolean>();

/** Whether some painted pixels were not erased by a later stroke. Cached per list of marks. */
export function hasPaint({ marks }: Pick<MarkHistory, "marks">): boolean {
  const known = marked.get(marks);
  if (known !== undefined) return known;
  const selection = selectionOf(marks);
  const strokes = strokesOf(marks);
  const isEraser = ({ mode }: Stroke) => mode === "erase";
  const isLeft =
    (selection !== null && leavesSome(sampleSelection(selection), strokes.filter(isEraser))) ||
    strokes.some((stroke, at) => {
      if (stroke.mode === "erase") return false;
      const erasers = strokes.slice(at + 1).filter(isEraser);
      return erasers.length === 0 || leavesSome(samplesOf(stroke), erasers);
    });
  marked.set(marks, isLeft);
  return isLeft;
}

function leavesSome(samples: Iterable<Point>, erasers: readonly Stroke[]): boolean {
  const covers = erasers.map(coverOf);
  for (const sample of samples) if (!covers.some((isUnder) => isUnder(sample))) return true;
  return false;
}

/** Sample points of a stroke: a grid over each disc, with discs added between points that are far apart. */
function* samplesOf({ sizePx, points }: Stroke): Generator<Point> {
  const radius = sizePx / 2;
  const stepPx = Math.max(0.5, radius / samplesPerRadius);
  const offsets: Point[] = [];
  for (let y = -radius; y <= radius; y += stepPx)
    for (let x = -radius; x <= radius; x += stepPx)
      if (x * x + y * y <= radius * radius) offsets.push({ x, y });
  for (const centre of centresOf(points, Math.max(0.5, radius / 2)))
    for (const { x, y } of offsets) yield { x: centre.x + x, y: centre.y + y };
}

function* centresOf(points: readonly Point[], stepPx: number): Generator<Point> {
  let last = points[0];
  if (last === undefined) return;
  yield last;
  for (const point of points.slice(1)) {
    const steps = Math.max(1, Math.ceil(Math.hypot(point.x - last.x, point.y - last.y) / stepPx));
    for (let step = 1; step <= steps; step += 1) {
      const part = step / steps;
      yield { x: last.x + (point.x - last.x) * part, y: last.y + (point.y - last.y) * part };
    }
    last = point;
  }
}

/** Tests whether a point lies under a stroke. Callers test neighbouring points in turn, so the last hit is tried first. */
function coverOf({ sizePx, points }: Stroke): (at: Point) => boolean {
  const reach = (sizePx / 2 + tolerancePx) ** 2;
  let last = 0;
  const isUnder = (at: Point, index: number) => {
    const to = points[index];
    return to !== undefined && distance2(at, points[index - 1] ?? to, to) <= reach;
  };
  return (at) => {
    if (isUnder(at, last)) return true;
    const found = points.findIndex((_, index) => isUnder(at, index));
    if (found !== -1) last = found;
    return found !== -1;
  };
}

/** Squared distance from `at` to the segment between `from` and `to`. */
function distance2(at: Point, from: Point, to: Point): number {
  const [dx, dy] = [to.x - from.x, to.y - from.y];
  const length2 = dx * dx + dy * dy;
  const along = length2 === 0 ? 0 : ((at.x - from.x) * dx + (at.y - from.y) * dy) / length2;
  const part = Math.min(1, Math.max(0, along));
  return (at.x - from.x - dx * part) ** 2 + (at.y - from.y - dy * part) ** 2;
}
