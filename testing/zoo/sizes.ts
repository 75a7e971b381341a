import { deflateSync } from "node:zlib";
import { pngChunk, pngFile, pngHeader, withJpegSize } from "../pictures/index.ts";
import { byHeader, flatWebp, smallPicture, type ZooEntry } from "./entry.ts";

type Size = readonly [widthPx: number, heightPx: number];

const flood = byHeader("upload_too_many_pixels");
const badShape = byHeader("upload_bad_shape");
const unreadable = byHeader("upload_unreadable");

const onePixel = pngChunk("IDAT", deflateSync(Buffer.alloc(4)));
const png = ([widthPx, heightPx]: Size) => pngFile(pngHeader(widthPx, heightPx), onePixel);

const jpeg = async ([widthPx, heightPx]: Size) =>
  withJpegSize(await smallPicture("jpeg"), { widthPx, heightPx });

/** A frame of another size than its picture. */
async function lossyWebp([widthPx, heightPx]: Size): Promise<Buffer> {
  const bytes = await smallPicture("webp");
  const frame = bytes.indexOf("VP8 ") + 8;
  bytes.writeUInt16LE(widthPx, frame + 6);
  bytes.writeUInt16LE(heightPx, frame + 8);
  return bytes;
}

export async function losslessWebp([widthPx, heightPx]: Size): Promise<Buffer> {
  const bytes = await flatWebp();
  bytes.writeUInt32LE((widthPx - 1) | ((heightPx - 1) << 14), bytes.indexOf("VP8L") + 9);
  return bytes;
}

/** The canvas of an extended WebP without a picture in it. */
function extendedWebp([widthPx, heightPx]: Size): Buffer {
  const bytes = Buffer.alloc(30);
  bytes.write("RIFF\x16\0\0\0WEBPVP8X\x0a\0\0\0", "latin1");
  bytes.writeUIntLE(widthPx - 1, 24, 3);
  bytes.writeUIntLE(heightPx - 1, 27, 3);
  return bytes;
}

async function avif([widthPx, heightPx]: Size): Promise<Buffer> {
  const bytes = await smallPicture("avif");
  const size = bytes.indexOf("ispe");
  bytes.writeUInt32BE(widthPx, size + 8);
  bytes.writeUInt32BE(heightPx, size + 12);
  return bytes;
}

interface Family {
  readonly kind: string;
  readonly make: (size: Size) => Promise<Buffer> | Buffer;
  readonly floods?: readonly Size[];
  readonly badShapes?: readonly Size[];
  readonly empty?: readonly Size[];
}

const families: readonly Family[] = [
  {
    kind: "PNG",
    make: png,
    floods: [
      [60_000, 60_000],
      [0x7fff_ffff, 0x7fff_ffff],
      [0xffff_ffff, 1],
      [7_072, 7_072],
    ],
    badShapes: [
      [1, 50_000_000],
      [50_000_000, 1],
      [16_385, 1],
      [1, 16_385],
      [16_385, 3_000],
      [100, 10_100],
      [10_100, 100],
      [16_384, 163],
    ],
    empty: [
      [0, 9],
      [9, 0],
    ],
  },
  {
    kind: "JPEG",
    make: jpeg,
    floods: [
      [65_535, 65_535],
      [10_000, 5_001],
    ],
    badShapes: [
      [65_535, 1],
      [1, 65_535],
      [30_000, 1_600],
      [101, 10_202],
    ],
    empty: [
      [0, 32],
      [48, 0],
    ],
  },
  { kind: "lossy WebP", make: lossyWebp, floods: [[16_383, 16_383]], badShapes: [[100, 10_100]] },
  {
    kind: "lossless WebP",
    make: losslessWebp,
    floods: [
      [16_384, 16_384],
      [7_072, 7_072],
    ],
    badShapes: [
      [16_384, 163],
      [64, 16_384],
    ],
  },
  {
    kind: "extended WebP",
    make: extendedWebp,
    floods: [[16_777_216, 256]],
    badShapes: [[16_777_216, 1]],
  },
  {
    kind: "AVIF",
    make: avif,
    floods: [
      [0xffff_ffff, 0xffff_ffff],
      [8_000, 8_000],
    ],
    badShapes: [
      [1, 50_000_000],
      [40_000, 2],
      [16_384, 150],
    ],
    empty: [[0, 0]],
  },
];

/** Headers that claim sizes beyond the limits of area or shape, or none. */
export const sizes: readonly ZooEntry[] = families.flatMap(({ kind, make, ...groups }) =>
  [
    { found: groups.floods, outcome: flood },
    { found: groups.badShapes, outcome: badShape },
    { found: groups.empty, outcome: unreadable },
  ].flatMap(({ found = [], outcome }) =>
    found.map((size) => ({ name: `a ${kind} of ${size.join(" × ")}`, outcome, make: () => make(size) })),
  ),
);
