import { deflateSync } from "node:zlib";
import { pngChunk, withJpegSegment, withPngChunk } from "../pictures/index.ts";
import { smallPicture, type ZooEntry } from "./entry.ts";

const light = { takenAs: "light" } as const;
const heavy = { takenAs: "heavy" } as const;
const mib = 1_048_576;

/** Puts the same chunk or segment into a file many times. */
async function repeated(format: "jpeg" | "png", part: Buffer, times: number): Promise<Buffer> {
  const parts = Buffer.concat(Array<Buffer>(times).fill(part));
  const bytes = await smallPicture(format);
  if (format === "png") return withPngChunk(bytes, parts);
  return Buffer.concat([bytes.subarray(0, 2), parts, bytes.subarray(2)]);
}

/** The bytes of one JPEG segment, marker included. */
const segment = (marker: number, payload: Buffer) =>
  withJpegSegment(Buffer.from([0xff, 0xd8]), marker, payload).subarray(2);

const exif = Buffer.concat([Buffer.from("Exif\0\0MM\0*", "latin1"), Buffer.alloc(65_000)]);
/** Piece `number` of a colour profile of 200 pieces. */
const profilePiece = (number: number) =>
  segment(
    0xe2,
    Buffer.concat([Buffer.from("ICC_PROFILE\0"), Buffer.from([number, 200]), Buffer.alloc(65_000, number)]),
  );

async function webpWith(chunk: Buffer, times: number): Promise<Buffer> {
  const parts = Array<Buffer>(times).fill(chunk);
  const bytes = Buffer.concat([await smallPicture("webp"), ...parts]);
  bytes.writeUInt32LE(bytes.length - 8, 4);
  return bytes;
}

export function webpChunk(type: string, data: Buffer): Buffer {
  const head = Buffer.from(`${type}\0\0\0\0`, "latin1");
  head.writeUInt32LE(data.length, 4);
  return Buffer.concat([head, data]);
}

const pngText = (inflatedBytes: number) =>
  pngChunk("zTXt", Buffer.concat([Buffer.from("a\0\0"), deflateSync(Buffer.alloc(inflatedBytes))]));

/** Small pictures that are large or slow by what stands beside their pixels. */
export const metadata: readonly ZooEntry[] = [
  {
    name: "a jpeg with 13 MB of EXIF",
    outcome: light,
    make: () => repeated("jpeg", segment(0xe1, exif), 200),
  },
  {
    name: "a jpeg with a damaged colour profile of 13 MB",
    outcome: { either: true },
    async make() {
      const pieces = Array.from({ length: 200 }, (_none, at) => profilePiece(at + 1));
      const bytes = await smallPicture("jpeg");
      return Buffer.concat([bytes.subarray(0, 2), ...pieces, bytes.subarray(2)]);
    },
  },
  {
    name: "a png with 20 MB of EXIF",
    outcome: light,
    make: () => repeated("png", pngChunk("eXIf", Buffer.alloc(20 * mib)), 1),
  },
  {
    name: "a png with 7 MB of compressed text",
    outcome: light,
    make: () => repeated("png", pngText(7 * mib), 1),
  },
  {
    name: "a png with 9 MB of compressed text",
    outcome: light,
    make: () => repeated("png", pngText(9 * mib), 1),
  },
  {
    name: "a png with 100 compressed texts of 100 KB",
    outcome: light,
    make: () => repeated("png", pngText(100_000), 100),
  },
  {
    name: "a png whose colour profile is 6 MB of zeros",
    outcome: { either: true },
    make: () =>
      repeated(
        "png",
        pngChunk("iCCP", Buffer.concat([Buffer.from("a\0\0"), deflateSync(Buffer.alloc(6 * mib))])),
        1,
      ),
  },
  {
    name: "a webp with 20 MB of EXIF",
    outcome: light,
    make: () => webpWith(webpChunk("EXIF", Buffer.alloc(20 * mib)), 1),
  },
  {
    name: "a webp with 20 MB of XMP",
    outcome: light,
    make: () => webpWith(webpChunk("XMP ", Buffer.alloc(20 * mib, 0x20)), 1),
  },
  {
    name: "a jpeg of 5,000 comments",
    outcome: heavy,
    make: () => repeated("jpeg", segment(0xfe, Buffer.from("x")), 5_000),
  },
  {
    name: "a png of 5,000 texts",
    outcome: heavy,
    make: () => repeated("png", pngChunk("tEXt", Buffer.from("a\0b")), 5_000),
  },
  {
    name: "a webp of 5,000 chunks",
    outcome: heavy,
    make: () => webpWith(webpChunk("XTRA", Buffer.alloc(0)), 5_000),
  },
  {
    name: "a webp of 5,000 frames",
    outcome: { either: true },
    make: () => webpWith(webpChunk("ANMF", Buffer.alloc(16)), 5_000),
  },
];
