import { deflateSync } from "node:zlib";
import {
  addUser,
  listObjects,
  pngChunk,
  pngFile,
  pngHeader,
  readSample,
  withJpegSize,
  withPngChunk,
} from "@atelier/testing/pictures";
import { createTestServices, type TestServices } from "@atelier/testing/services";
import { count } from "drizzle-orm";
import sharp from "sharp";
import { afterAll, beforeAll, expect, test } from "vitest";
import { schema } from "../db/index.ts";
import type { ErrorCode } from "../platform/index.ts";
import { ingest, inspect, uploadLimits } from "./index.ts";

let opened: TestServices;
let ownerId: string;

beforeAll(async () => {
  opened = await createTestServices();
  ownerId = await addUser(opened.services);
});
afterAll(() => opened.close());

const jpeg = () => readSample("rocket.jpg");
const png = () => readSample("coffee.png");
const flat = (widthPx: number, heightPx: number) =>
  sharp({ create: { width: widthPx, height: heightPx, channels: 3, background: "red" } });
const html = Buffer.from("<!DOCTYPE html><html><script>alert(1)</script></html>");
const bomb = (inflatedBytes: number) => deflateSync(Buffer.alloc(inflatedBytes), { level: 1 });
/** As many as one too many; each a valid piece of its format. */
const tooMany = (part: Buffer) => Buffer.concat(Array<Buffer>(uploadLimits.parts + 1).fill(part));
const onePixel = () => pngChunk("IDAT", bomb(4));

/** Its first brand, and one beside it. */
const film = (brands: string) =>
  Buffer.concat([
    Buffer.from(`\0\0\0\x18ftyp${brands.slice(0, 4)}\0\0\0\0${brands}`, "latin1"),
    Buffer.alloc(400, 7),
  ]);

const badInputs: Record<string, [ErrorCode, () => Promise<Buffer> | Buffer]> = {
  "a file of 25 MB and a byte": ["upload_too_large", () => Buffer.alloc(uploadLimits.sizeBytes + 1, 0xff)],
  "an empty file": ["upload_unsupported", () => Buffer.alloc(0)],
  ...Object.fromEntries(
    ["isomhevc", "mp42hevx", "qt  hevm", "iso6hevs", "M4V hevc"].map((brands) => [
      `a film of the brands ${brands}`,
      ["upload_unsupported", () => film(brands)] as const,
    ]),
  ),
  "text named as a picture": ["upload_unsupported", () => Buffer.from("this is no picture at all")],
  "an SVG": [
    "upload_unsupported",
    () => Buffer.from('<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"/>'),
  ],
  "an SVG with an XML head": [
    "upload_unsupported",
    () => Buffer.from('<?xml version="1.0"?><svg xmlns="http://www.w3.org/2000/svg"/>'),
  ],
  "a PDF": ["upload_unsupported", () => Buffer.from("%PDF-1.7\n1 0 obj\n<<>>\nendobj\n")],
  "a page": ["upload_unsupported", () => html],
  "half a JPEG": ["upload_unreadable", async () => half(await jpeg())],
  "half a PNG": ["upload_unreadable", async () => half(await png())],
  "half a WebP": ["upload_unreadable", async () => half(await flat(200, 200).webp().toBuffer())],
  "half an AVIF": [
    "upload_unreadable",
    async () =>
      half(
        await sharp(await png())
          .avif()
          .toBuffer(),
      ),
  ],
  "the first three bytes of a JPEG": ["upload_unreadable", async () => (await jpeg()).subarray(0, 3)],
  "a PNG with wrong pixel data": [
    "upload_unreadable",
    () => pngFile(pngHeader(9, 9), pngChunk("IDAT", Buffer.alloc(300, 7))),
  ],
  "a PNG without pixels": ["upload_unreadable", () => pngFile(pngHeader(9, 9))],
  "a PNG of no width": ["upload_unreadable", () => pngFile(pngHeader(0, 9), onePixel())],
  "a PNG whose pixels inflate to 100 MB": [
    "upload_unreadable",
    () => pngFile(pngHeader(1, 1), pngChunk("IDAT", bomb(100e6))),
  ],
  "a PNG of 20,001 chunks": [
    "upload_unreadable",
    async () => withPngChunk(await png(), tooMany(pngChunk("tEXt", Buffer.from("a\0b")))),
  ],
  "a JPEG of 20,001 segments": [
    "upload_unreadable",
    async () => {
      const bytes = await jpeg();
      const comments = tooMany(Buffer.from([0xff, 0xfe, 0, 3, 0x61]));
      return Buffer.concat([bytes.subarray(0, 2), comments, bytes.subarray(2)]);
    },
  ],
  "a WebP of 20,001 chunks": [
    "upload_unreadable",
    async () => {
      const webp = await flat(9, 9).webp().toBuffer();
      const bytes = Buffer.concat([webp, tooMany(Buffer.from("XTRA\0\0\0\0", "latin1"))]);
      bytes.writeUInt32LE(bytes.length - 8, 4);
      return bytes;
    },
  ],
  "an AVIF of 20,001 boxes": [
    "upload_unreadable",
    async () =>
      Buffer.concat([await flat(64, 64).avif().toBuffer(), tooMany(Buffer.from("\0\0\0\x08free", "latin1"))]),
  ],
  "a JPEG of 100 scans": [
    "upload_unreadable",
    async () => withScans(await flat(64, 64).jpeg().toBuffer(), 100),
  ],
  "a PNG of 60,000 × 60,000": [
    "upload_too_many_pixels",
    () => pngFile(pngHeader(60_000, 60_000), pngChunk("IDAT", bomb(4))),
  ],
  "a JPEG of 65,000 × 65,000": [
    "upload_too_many_pixels",
    async () => withJpegSize(await jpeg(), { widthPx: 65_000, heightPx: 65_000 }),
  ],
  "a PNG just above 50 megapixels": [
    "upload_too_many_pixels",
    () => pngFile(pngHeader(10_000, 5_001), onePixel()),
  ],
  "a PNG of 1 × 50,000,000": ["upload_bad_shape", () => pngFile(pngHeader(1, 50_000_000), onePixel())],
  "a WebP of 140 megapixels": [
    "upload_too_many_pixels",
    async () => {
      const webp = await flat(9, 9).webp().toBuffer();
      const frame = webp.indexOf("VP8 ") + 8;
      webp.writeUInt16LE(14_000, frame + 6);
      webp.writeUInt16LE(10_000, frame + 8);
      return webp;
    },
  ],
  "an AVIF of 64 megapixels": [
    "upload_too_many_pixels",
    async () => {
      const avif = await flat(64, 64).avif({ effort: 0 }).toBuffer();
      const size = avif.indexOf("ispe");
      avif.writeUInt32BE(8_000, size + 8);
      avif.writeUInt32BE(8_000, size + 12);
      return avif;
    },
  ],
};

function half(bytes: Buffer): Buffer {
  return bytes.subarray(0, bytes.length >> 1);
}

/** Repeats the one scan of a JPEG. */
function withScans(jpegBytes: Buffer, scans: number): Buffer {
  const start = jpegBytes.indexOf(Buffer.from([0xff, 0xda]));
  const scan = jpegBytes.subarray(start, -2);
  return Buffer.concat([
    jpegBytes.subarray(0, start),
    ...Array<Buffer>(scans).fill(scan),
    jpegBytes.subarray(-2),
  ]);
}

for (const [name, [code, make]] of Object.entries(badInputs)) {
  test(`A5 ${name} is refused as ${code} and leaves nothing`, async () => {
    const bytes = await make();
    for (const role of ["upload", "mask"] as const) {
      const taken = ingest(opened.services, { ownerId, role, bytes, name: "photo.png" });
      await expect(taken).rejects.toMatchObject({ code });
    }
    expect(await listObjects(opened.services)).toEqual([]);
    expect(await opened.services.db.select({ rows: count() }).from(schema.images)).toEqual([{ rows: 0 }]);
  });
}

test("a file cut before its last rows never gets in and never crashes", async () => {
  const whole = await sharp(await jpeg())
    .resize(96, 160, { fit: "fill" })
    .jpeg()
    .toBuffer();
  const refused: unknown[] = [];
  for (let length = 0; length < whole.length * 0.5; length += 97) {
    const result = ingest(opened.services, { ownerId, role: "upload", bytes: whole.subarray(0, length) });
    refused.push(await result.catch((error: { code: string }) => error.code));
  }
  expect(new Set(refused)).toEqual(new Set(["upload_unsupported", "upload_unreadable"]));
});

test("A5 a GIF has the size of its first frame where its screen has none or a smaller one, also for the limits", async () => {
  const frames = await Promise.all(
    ["#c05030", "#3050c0"].map((background) =>
      sharp({ create: { width: 40, height: 30, channels: 3, background } })
        .png()
        .toBuffer(),
    ),
  );
  const gif = await sharp(frames, { join: { animated: true } })
    .gif()
    .toBuffer();
  const withScreen = (width: number, height: number) => {
    const bytes = Buffer.from(gif);
    bytes.writeUInt16LE(width, 6);
    bytes.writeUInt16LE(height, 8);
    return bytes;
  };
  for (const [width, height] of [
    [0, 0],
    [0, 30],
    [10, 10],
    [40, 30],
  ] as const) {
    const bytes = withScreen(width, height);
    expect(await inspect(bytes, {})).toMatchObject({ format: "gif", widthPx: 40, heightPx: 30 });
    const taken = await ingest(opened.services, { ownerId, role: "upload", bytes });
    expect(taken).toMatchObject({ widthPx: 40, heightPx: 30 });
  }
  const whole = Buffer.from([0x2c, 0, 0, 0, 0, 40, 0, 30, 0]);
  const frame = gif.indexOf(whole);
  const later = gif.indexOf(whole, frame + 1);
  expect(later).toBeGreaterThan(frame);
  const stray = withScreen(10, 10);
  stray.fill(0xff, later + 5, later + 9);
  expect(await inspect(stray, {})).toMatchObject({ widthPx: 40, heightPx: 30 });
  const large = withScreen(10, 10);
  large.fill(0xff, frame + 5, frame + 9);
  await expect(inspect(large, {})).rejects.toMatchObject({ code: "upload_too_many_pixels" });
  for (let length = 10; length < gif.length; length += 7)
    expect(await inspect(withScreen(40, 30).subarray(0, length), {})).toMatchObject({
      widthPx: 40,
      heightPx: 30,
    });
});

test("the answer to a picture of a bad shape names its size and the limit", async () => {
  const send = (widthPx: number, heightPx: number) =>
    ingest(opened.services, {
      ownerId,
      role: "upload",
      bytes: pngFile(pngHeader(widthPx, heightPx), onePixel()),
    });
  await expect(send(1, 50_000_000)).rejects.toThrow("1 × 50000000 pixels; a side can have at most 16384.");
  await expect(send(10_100, 100)).rejects.toThrow(
    "10100 × 100 pixels; a side can be at most 100 times the other side.",
  );
});

test("a header that claims 3.6 gigapixels costs no memory", async () => {
  const bytes = pngFile(pngHeader(60_000, 60_000), pngChunk("IDAT", bomb(1_000_000)));
  const before = process.memoryUsage().rss;
  let peak = before;
  const watch = setInterval(() => (peak = Math.max(peak, process.memoryUsage().rss)), 1);
  for (let round = 0; round < 20; round += 1)
    await expect(ingest(opened.services, { ownerId, role: "upload", bytes })).rejects.toMatchObject({
      code: "upload_too_many_pixels",
    });
  clearInterval(watch);
  expect(peak - before).toBeLessThan(50_000_000);
});

test("of the brands of an AVIF no more are read than a file has boxes", async () => {
  const avif = await flat(64, 64).avif().toBuffer();
  const brands = tooMany(Buffer.from("mif1"));
  const bytes = Buffer.concat([avif.subarray(0, 16), brands, avif.subarray(16)]);
  bytes.writeUInt32BE(avif.readUInt32BE(0) + brands.length, 0);
  const details = { reason: "too many parts" };
  await expect(inspect(bytes, {})).rejects.toMatchObject({ code: "upload_unreadable", details });
});
