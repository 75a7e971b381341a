import type { ImageView } from "@atelier/server/images";
import { sendFile } from "../../uploads/send.ts";
import { leastMarked } from "./edges.ts";
import { type Mark, rasterOf } from "./marks.ts";
import { bandsOf, type Size } from "./raster.ts";

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

/** The same rows; throws `mask_empty` at their end when no pixel is marked: what is left of an erased stroke can be too thin. */
export function* requireMarked(rows: GreyRows): Generator<Uint8Array<ArrayBuffer>> {
  let isMarked = false;
  for (const band of rows) {
    isMarked ||= band.some((value) => value >= leastMarked);
    yield band;
  }
  if (!isMarked) throw Object.assign(new Error("No pixel is marked."), { code: "mask_empty" });
}

/** The marks as a grey PNG at the size of the picture; white = change. */
function exportMask(marks: readonly Mark[], size: Size): Promise<Blob> {
  return encodeGreyPng(size.widthPx, size.heightPx, requireMarked(bandsOf(rasterOf(marks, size))));
}

/** Uploads the marks as a mask; resolves with the image id of the mask, rejects with the failure. */
export async function uploadMask(
  { widthPx, heightPx }: Pick<ImageView, "widthPx" | "heightPx">,
  marks: readonly Mark[],
): Promise<string> {
  const file = await exportMask(marks, { widthPx, heightPx });
  const sent = await sendFile({ file, name: "mask.png", role: "mask", signal: new AbortController().signal });
  if (!sent.ok) throw sent.failure;
  return sent.image.id;
}
