import { deflateSync } from "node:zlib";
import sharp from "sharp";
import { pngChunk, pngFile, withJpegSize } from "../pictures/index.ts";
import { byDecoder, smallPicture, type ZooEntry } from "./entry.ts";
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
];
