import { deflateSync } from "node:zlib";
import sharp from "sharp";
import { pngChunk, pngFile, withJpegSize } from "../pictures/index.ts";
import { byDecoder, smallPicture, type ZooEntry } from "./entry.ts";
import { webpChunk } from "./metadata.ts";
import { losslessWebp } from "./sizes.ts";

const light = { takenAs: "light" } as const;
const heavy = { takenAs: "heavy" } as const;

interface BitPng {
  readonly widthPx: number;
  readonly heightPx: number;
  /** Bytes of pixel data beyond what the size needs. */
  readonly extraBytes?: number;
}

/** A black PNG of one bit per pixel: megapixels from a few hundred bytes. */
function bitPng({ widthPx, heightPx, extraBytes = 0 }: BitPng): Buffer {
  const header = Buffer.alloc(13);
  header.writeUInt32BE(widthPx, 0);
  header.writeUInt32BE(heightPx, 4);
  header[8] = 1;
  const pixels = Buffer.alloc((1 + Math.ceil(widthPx / 8)) * heightPx + extraBytes);
  return pngFile(pngChunk("IHDR", header), pngChunk("IDAT", deflateSync(pixels, { level: 1 })));
}

const flat = (widthPx: number, heightPx: number) =>
  sharp({ create: { width: widthPx, height: heightPx, channels: 3, background: "red" } });

/** A WebP of so many frames of its size, of which all are transparent. */
async function clearFilm(frames: number, side: number): Promise<Buffer> {
  const create = { width: side, height: side, channels: 4, background: "#0000" } as const;
  const still = await sharp({ create }).webp({ lossless: true, effort: 0 }).toBuffer();
  const pixels = still.subarray(still.indexOf("VP8L"));
  const size = Buffer.alloc(6);
  size.writeUIntLE(side - 1, 0, 3);
  size.writeUIntLE(side - 1, 3, 3);
  const frame = webpChunk("ANMF", Buffer.concat([Buffer.alloc(6), size, Buffer.from([40, 0, 0, 0]), pixels]));
  const chunks = Buffer.concat([
    webpChunk("VP8X", Buffer.concat([Buffer.from([0x12, 0, 0, 0]), size])),
    webpChunk("ANIM", Buffer.alloc(6)),
    ...Array<Buffer>(frames).fill(frame),
  ]);
  const head = Buffer.from("RIFF\0\0\0\0WEBP", "latin1");
  head.writeUInt32LE(4 + chunks.length, 4);
  return Buffer.concat([head, chunks]);
}

/** Valid pictures that cost far more than their bytes, and lies about the size that only a decoder finds. */
export const dear: readonly ZooEntry[] = [
  {
    name: "a lossless webp of 49 megapixels in 38 bytes",
    outcome: heavy,
    make: () => losslessWebp([7_000, 7_000]),
  },
  {
    name: "a lossless webp of 4 megapixels in 38 bytes",
    outcome: light,
    make: () => losslessWebp([2_000, 2_000]),
  },
  {
    name: "a png of 25 megapixels in 4 KB",
    outcome: heavy,
    make: () => bitPng({ widthPx: 5_000, heightPx: 5_000 }),
  },
  { name: "a png of 16,384 × 16", outcome: light, make: () => bitPng({ widthPx: 16_384, heightPx: 16 }) },
  { name: "a png of 1 × 16,384", outcome: light, make: () => bitPng({ widthPx: 1, heightPx: 16_384 }) },
  {
    name: "a png of 1,600 × 16,000",
    outcome: heavy,
    make: () => bitPng({ widthPx: 1_600, heightPx: 16_000 }),
  },
  {
    name: "an interlaced png of 6 megapixels",
    outcome: heavy,
    make: () => flat(3_000, 2_000).png({ progressive: true, compressionLevel: 1 }).toBuffer(),
  },
  { name: "a jpeg of 20 megapixels", outcome: heavy, make: () => flat(5_000, 4_000).jpeg().toBuffer() },
  {
    name: "a progressive jpeg of 15 megapixels",
    outcome: heavy,
    make: () => flat(5_000, 3_000).jpeg({ progressive: true }).toBuffer(),
  },
  {
    name: "an avif of 4 megapixels",
    outcome: heavy,
    make: () => flat(2_000, 2_000).avif({ effort: 0 }).toBuffer(),
  },
  { name: "an avif of 48 × 32", outcome: heavy, make: () => smallPicture("avif") },
  {
    name: "a png with 90 MB behind its pixels",
    outcome: byDecoder("upload_unreadable"),
    make: () => bitPng({ widthPx: 64, heightPx: 64, extraBytes: 90_000_000 }),
  },
  {
    name: "a jpeg that says 40 megapixels and holds one block",
    outcome: heavy,
    make: async () => withJpegSize(await smallPicture("jpeg"), { widthPx: 8_000, heightPx: 5_000 }),
  },
  { name: "a webp of 16 clear frames of 9 megapixels", outcome: heavy, make: () => clearFilm(16, 3_000) },
  { name: "a webp of 40 clear frames of 25 megapixels", outcome: heavy, make: () => clearFilm(40, 5_000) },
  { name: "a webp of 12 clear frames of 500 × 500", outcome: light, make: () => clearFilm(12, 500) },
];
