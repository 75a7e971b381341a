import { Writable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { createInflate } from "node:zlib";
import { unreadable } from "../formats/container.ts";
import { pngChunks } from "../formats/png.ts";

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
 * Throws `upload_unreadable` when the pixel data inflates to more than the header's size needs: decoders inflate all of
 * it, 25 GB from 25 MB. Damaged data is left to the decoder to refuse.
 */
export async function boundPngPixels(bytes: Buffer): Promise<void> {
  const compressed: Buffer[] = [];
  let limitBytes = 0;
  for (const { type, data } of pngChunks(bytes)) {
    if (type === "IHDR") limitBytes = pixelBytes(data);
    if (type === "IDAT") compressed.push(data);
  }
  if (compressed.reduce((sum, part) => sum + part.length, 0) < harmlessBytes) return;
  if (await inflatesBeyond(compressed, limitBytes)) throw unreadable("more pixels than its size");
}

/** Rows with their filter byte; interlacing splits a row into at most seven, each rounded up. */
function pixelBytes(header: Buffer): number {
  const widthPx = header.readUInt32BE(0);
  const heightPx = header.readUInt32BE(4);
  const samples = samplesByColourType.get(header[9] ?? 0) ?? 4;
  const rowBytes = Math.ceil((widthPx * samples * (header[8] ?? 16)) / 8);
  return rowBytes * heightPx + 16 * (heightPx + 1);
}

async function inflatesBeyond(compressed: readonly Buffer[], limitBytes: number): Promise<boolean> {
  let inflatedBytes = 0;
  const enough = new AbortController();
  const counter = new Writable({
    write(chunk: Buffer, _encoding, done) {
      inflatedBytes += chunk.length;
      if (inflatedBytes > limitBytes) enough.abort();
      done();
    },
  });
  try {
    await pipeline(compressed, createInflate({ chunkSize: 262_144 }), counter, { signal: enough.signal });
  } catch {
    // Either aborted above or damaged, which the decoder will say.
  }
  return inflatedBytes > limitBytes;
}
