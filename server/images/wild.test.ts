import { readFile as readLocal } from "node:fs/promises";
import path from "node:path";
import {
  addUser,
  cornersPicture,
  pngChunk,
  readCorners,
  readFileOf,
  readSample,
  withJpegSegment,
  withPngChunk,
} from "@atelier/testing/pictures";
import { createTestServices, type TestServices } from "@atelier/testing/services";
import sharp from "sharp";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { forCasesInTurn, inAll } from "@atelier/testing/cases";
import { decodePhoto } from "./decode.ts";
import { planUpload } from "./files.ts";
import { ingest, type IngestedImage, uploadLimits, type Variant, variants } from "./index.ts";

let opened: TestServices;
let ownerId: string;

beforeAll(async () => {
  opened = await createTestServices();
  ownerId = await addUser(opened.services);
});
afterAll(() => opened.close());

const heic = (name: string) =>
  readLocal(path.join(import.meta.dirname, "../../testing/pictures/heic", `${name}.heic`));
const upload = (bytes: Buffer, more: { scaleDown?: boolean; name?: string } = {}) =>
  ingest(opened.services, { ownerId, role: "upload", bytes, ...more });
const stored = ({ id }: IngestedImage, variant: Variant = "original") =>
  readFileOf(opened.services, id, variant);

async function meanOf(bytes: Buffer): Promise<number[]> {
  const { channels } = await sharp(bytes).stats();
  return channels.map(({ mean }) => Math.round(mean));
}

const latin1 = (text: string) => Buffer.from(text, "latin1");
const film = Buffer.concat([latin1("\0\0\0\x18ftypmp42\0\0\0\0mp42isom"), Buffer.alloc(4_000, 7)]);
const flat = (
  widthPx: number,
  heightPx: number,
  background: string | { r: number; g: number; b: number; alpha: number } = "red",
) => sharp({ create: { width: widthPx, height: heightPx, channels: 3, background } });

const box = (type: string, ...parts: readonly (Buffer | readonly number[])[]): Buffer => {
  const data = Buffer.concat(parts.map((part) => Buffer.from(part)));
  const head = Buffer.alloc(8);
  head.writeUInt32BE(8 + data.length);
  head.write(type, 4, "latin1");
  return Buffer.concat([head, data]);
};

/** The boxes of these bytes, each whole. */
function boxesIn(bytes: Buffer): Buffer[] {
  const end = bytes.length < 8 ? 0 : bytes.readUInt32BE(0);
  return end === 0 ? [] : [bytes.subarray(0, end), ...boxesIn(bytes.subarray(end))];
}

/** What is in the box behind its head and so many bytes more. */
function inBox(bytes: Buffer, type: string, skip = 0): Buffer {
  const found = boxesIn(bytes).find((each) => each.toString("latin1", 4, 8) === type);
  if (!found) throw new Error(`no ${type}`);
  return found.subarray(8 + skip);
}

const shorts = (...values: readonly number[]) => values.flatMap((value) => [value >>> 8, value & 255]);
const long = (value: number) => [24, 16, 8, 0].map((shift) => (value >>> shift) & 255);

/** One AVIF of the pictures of others, of which one is shown. */
function avifOf(files: readonly Buffer[], shown: number, ...more: readonly Buffer[]): Buffer {
  const properties = files.map((file) => [
    ...boxesIn(inBox(inBox(inBox(file, "meta", 4), "iprp"), "ipco")),
    ...more,
  ]);
  const pixels = files.map((file) => inBox(file, "mdat"));
  const firstOf = (at: number) => 1 + properties.slice(0, at).flat().length;
  const meta = (pixelsAt: number) =>
    box(
      "meta",
      long(0),
      box("hdlr", long(0), long(0), latin1("pict"), Buffer.alloc(13)),
      box("pitm", long(0), [0, 1 + shown]),
      box(
        "iloc",
        long(0),
        [0x44, 0, 0, files.length],
        ...pixels.map((bytes, at) => [
          ...shorts(1 + at, 0, 1),
          ...long(pixelsAt + Buffer.concat(pixels.slice(0, at)).length),
          ...long(bytes.length),
        ]),
      ),
      box(
        "iinf",
        long(0),
        [0, files.length],
        ...files.map((_file, at) => box("infe", [2, 0, 0, 0, 0, 1 + at, 0, 0], latin1("av01\0"))),
      ),
      box(
        "iprp",
        box("ipco", ...properties.flat()),
        box(
          "ipma",
          long(0),
          long(files.length),
          ...properties.map((own, at) => [
            ...shorts(1 + at),
            own.length,
            ...own.map((_property, each) => firstOf(at) + each),
          ]),
        ),
      ),
    );
  const start = box("ftyp", latin1("avif\0\0\0\0avifmif1miaf"));
  return Buffer.concat([start, meta(start.length + meta(0).length + 8), box("mdat", ...pixels)]);
}

/** Codes of Display P3, which the studio converts by itself. */
const wide = box("colr", latin1("nclx"), shorts(12, 13, 6), [0x80]);

describe("HEIC", () => {
  test("its first brand may be another one than that of its pictures", async () => {
    for (const brand of ["miaf", "MiHB", "heis", "mif2"]) {
      const bytes = await heic("tiles");
      bytes.write(brand, 8, "latin1");
      expect(await upload(bytes)).toMatchObject({ widthPx: 224, heightPx: 160, mime: "image/webp" });
    }
    const avif = await cornersPicture(64, 32).avif({ effort: 0 }).toBuffer();
    // The last one is that of a sequence, whose file has its first picture as a still one, too.
    for (const brand of ["miaf", "MA1B", "avis"]) {
      avif.write(brand, 8, "latin1");
      const bytes = Buffer.concat([avif, Buffer.from(`\0\0\0\x0cfree${brand}`, "latin1")]);
      const image = await upload(bytes);
      expect(image.notes).toEqual(brand === "avis" ? ["first_picture"] : []);
      expect(await readCorners(await stored(image))).toEqual(["red", "green", "blue", "white"]);
    }
  });

  test("of an AVIF of two pictures the one is taken that is shown, also where its colours are converted", async () => {
    const pictures = [flat(64, 48, "red"), flat(48, 64, "blue")].map((picture) =>
      picture.avif({ effort: 0 }).toBuffer(),
    );
    const made = await Promise.all(pictures);
    for (const more of [[], [wide]])
      for (const shown of [0, 1]) {
        const image = await upload(avifOf(made, shown, ...more));
        expect(image).toMatchObject(shown === 0 ? { widthPx: 64, heightPx: 48 } : { widthPx: 48 });
        const [red = 0, , blue = 0] = await meanOf(await stored(image));
        expect((blue - red) * (shown === 0 ? -1 : 1)).toBeGreaterThan(200);
      }
  });

  test("a turned phone picture is upright, and nothing of its hidden parts is stored", async () => {
    const bytes = await heic("turned");
    expect(bytes.includes("SecretXmp") && bytes.includes("SecretMaker")).toBe(true);
    const image = await upload(bytes, { name: "IMG_0001.HEIC" });
    expect(image).toMatchObject({ widthPx: 64, heightPx: 96, mime: "image/webp", title: "IMG_0001" });
    for (const variant of variants) {
      const file = await stored(image, variant);
      expect(file.includes("Secret")).toBe(false);
      expect(await readCorners(file)).toEqual(["blue", "red", "white", "green"]);
    }
  });

  test("tiles are joined; of several pictures the one that is shown is taken", inAll, async () => {
    const tiles = await upload(await heic("tiles"));
    expect(tiles).toMatchObject({ widthPx: 224, heightPx: 160 });
    expect(await readCorners(await stored(tiles))).toEqual(["red", "green", "blue", "white"]);
    const second = await upload(await heic("second-shown"));
    expect(second).toMatchObject({ widthPx: 48, heightPx: 64 });
    const [red = 0, , blue = 0] = await meanOf(await stored(second));
    expect(blue - red).toBeGreaterThan(200);
  });

  test("a wide profile and 10 bits of HDR become sRGB; alpha stays", async () => {
    const wide = await meanOf(await stored(await upload(await heic("wide"))));
    expect(wide.map((mean, at) => Math.abs(mean - ([0, 203, 11][at] ?? 0)) < 8)).toEqual([true, true, true]);
    const hdr = await meanOf(await stored(await upload(await heic("hdr"))));
    // 58 % of PQ are the 203 nits of a white page; 8 bits of it would be 148.
    expect(Math.min(...hdr)).toBeGreaterThan(225);
    const alpha = await sharp(await stored(await upload(await heic("alpha")))).stats();
    expect(alpha.channels).toHaveLength(4);
    expect(Math.round(alpha.channels[3]?.mean ?? 0)).toBeCloseTo(127, -1);
  });

  test("a cut HEIC is refused with a sentence", async () => {
    const bytes = await heic("tiles");
    await expect(upload(bytes.subarray(0, bytes.length - 600))).rejects.toMatchObject({
      code: "upload_unreadable",
    });
  });
});

/** What phones and cameras put into a JPEG beside its picture. */
const hiddenParts: Record<string, () => Promise<Buffer>> = {
  "a second picture (MPO)": async () =>
    Buffer.concat([await readSample("rocket.jpg"), await flat(50, 50, "lime").jpeg().toBuffer()]),
  "a film behind it (motion photo)": async () => Buffer.concat([await readSample("rocket.jpg"), film]),
  "a ZIP behind it": async () =>
    Buffer.concat([await readSample("rocket.jpg"), latin1("PK\x05\x06"), Buffer.alloc(18)]),
  "a page in a comment": async () =>
    withJpegSegment(await readSample("rocket.jpg"), 0xfe, latin1("<!DOCTYPE html><script>x</script>")),
  "a gain map in XMP and behind it": async () =>
    Buffer.concat([
      withJpegSegment(
        await readSample("rocket.jpg"),
        0xe1,
        latin1("http://ns.adobe.com/xap/1.0/\0<x:xmpmeta hdrgm:Version='1.0'/>"),
      ),
      await flat(40, 40, "grey").jpeg().toBuffer(),
    ]),
  "a script in a JFIF header": async () => {
    const payload = Buffer.alloc(0x2f2a - 2);
    payload.write("JFIF\0");
    return withJpegSegment(await readSample("rocket.jpg"), 0xe0, payload);
  },
  "camera data that is damaged": async () =>
    withJpegSegment(await readSample("rocket.jpg"), 0xe1, latin1("Exif\0\0MM\0*\xff\xff\xff\xff garbage")),
};

test.each(Object.entries(hiddenParts))("S3 a JPEG with %s is taken without it", async (_name, make) => {
  const bytes = await make();
  const image = await upload(bytes);
  const [plain, kept] = [await sharp(await readSample("rocket.jpg")).metadata(), await stored(image)];
  expect(image).toMatchObject({ widthPx: plain.width, heightPx: plain.height, notes: [] });
  expect(kept.lastIndexOf(Buffer.from([0xff, 0xd8, 0xff]))).toBe(0);
  for (const part of ["<script", "PK\x05\x06", "ftyp", "hdrgm", "Exif"])
    expect(kept.includes(latin1(part))).toBe(false);
});

test.each([
  ["a text about pages", pngChunk("tEXt", latin1("parameters\0how to write <html> and <iframe >, %PDF-1"))],
  ["a damaged text", pngChunk("zTXt", latin1("a\0\0not zlib"))],
  ["a text of 100 MB", pngChunk("iTXt", latin1("a\0\x01\0\0\0x"))],
  ["a damaged profile", pngChunk("iCCP", latin1("a\0\0not zlib"))],
  [
    "a wrong checksum of a date",
    Buffer.concat([pngChunk("tIME", Buffer.alloc(7)).subarray(0, -4), Buffer.alloc(4)]),
  ],
])("a PNG with %s is taken", async (_name, chunk) => {
  const image = await upload(withPngChunk(await readSample("coffee.png"), chunk));
  expect(image).toMatchObject({ notes: [] });
});

describe("harmless damage", () => {
  const photo = async () =>
    sharp(await readSample("astronaut.png"))
      .resize(480, 480)
      .jpeg()
      .toBuffer();

  test("a JPEG without its end mark is taken as it is", async () => {
    const bytes = await photo();
    const image = await upload(bytes.subarray(0, -2));
    expect(image).toMatchObject({ widthPx: 480, heightPx: 480, notes: ["end_missing"] });
    expect(await meanOf(await stored(image))).toEqual(await meanOf(await stored(await upload(bytes))));
  });

  test.each([
    ["jpeg", 0.97, true],
    ["jpeg", 0.7, false],
    ["progressive", 0.97, true],
    ["progressive", 0.3, false],
    ["png", 0.97, true],
    ["png", 0.7, false],
  ] as const)("of a %s the first %f are taken: %s", async (kind, share, isTaken) => {
    const picture = sharp(await readSample("astronaut.png")).resize(480, 480);
    const made =
      kind === "png" ? picture.png() : picture.jpeg({ progressive: kind === "progressive", quality: 90 });
    const whole = await made.toBuffer();
    const taken = await upload(whole.subarray(0, Math.floor(whole.length * share))).then(
      ({ notes }) => notes,
      ({ code }: { code: string }) => code,
    );
    expect(taken).toEqual(isTaken ? ["end_missing"] : "upload_unreadable");
  });

  test("garbage behind the end of any format is dropped", inAll, async () => {
    for (const format of ["jpeg", "png", "webp", "avif", "gif", "tiff"] as const) {
      const bytes = await cornersPicture(64, 32).toFormat(format).toBuffer();
      const image = await upload(Buffer.concat([bytes, Buffer.alloc(5_000, 0x5a)]));
      expect(await readCorners(await stored(image))).toEqual(["red", "green", "blue", "white"]);
    }
  });
});

const cicp = (primaries: number, transfer: number) =>
  pngChunk("cICP", Buffer.from([primaries, transfer, 0, 1]));
const gamma = (value: number) => {
  const data = Buffer.alloc(4);
  data.writeUInt32BE(value);
  return pngChunk("gAMA", data);
};

describe("colours", () => {
  const grey128 = { r: 128, g: 128, b: 128, alpha: 1 };
  test.each([
    ["Display P3 green", cicp(12, 13), { r: 0, g: 255, b: 0, alpha: 1 }, [0, 255, 0]],
    ["muted Display P3", cicp(12, 13), { r: 120, g: 200, b: 60, alpha: 1 }, [89, 203, 2]],
    ["sRGB", cicp(1, 13), grey128, [128, 128, 128]],
    ["linear grey", cicp(1, 8), grey128, [188, 188, 188]],
    ["the white of PQ", cicp(9, 16), { r: 148, g: 148, b: 148, alpha: 1 }, [238, 238, 238]],
    ["the white of HLG", cicp(9, 18), { r: 191, g: 191, b: 191, alpha: 1 }, [238, 238, 238]],
    ["a gamma of 1", gamma(100_000), grey128, [188, 188, 188]],
    ["the usual gamma", gamma(45_455), grey128, [128, 128, 128]],
  ])("a PNG of %s is converted to sRGB", async (_name, chunk, background, expected) => {
    for (const depth of ["uchar", "ushort"] as const) {
      const plain = flat(32, 24, background);
      const png = await (depth === "uchar" ? plain : plain.toColourspace("rgb16")).png().toBuffer();
      const found = await meanOf(await stored(await upload(withPngChunk(png, chunk))));
      expect(found.map((mean, at) => Math.abs(mean - (expected[at] ?? 0)) <= 4)).toEqual([true, true, true]);
    }
  });

  const kinds = {
    usual: [
      ["CMYK", () => flat(64, 48, { r: 200, g: 80, b: 60, alpha: 1 }).toColourspace("cmyk").jpeg()],
      ["16 bits", () => flat(64, 48, { r: 200, g: 80, b: 40, alpha: 1 }).toColourspace("rgb16").png()],
    ],
    others: [
      ["a palette", () => flat(64, 48, { r: 200, g: 80, b: 40, alpha: 1 }).png({ palette: true })],
      ["interlaced", () => flat(64, 48, { r: 200, g: 80, b: 40, alpha: 1 }).png({ progressive: true })],
      [
        "TIFF with its directory at its end",
        () => flat(200, 150, { r: 200, g: 80, b: 40, alpha: 1 }).tiff({ compression: "none" }),
      ],
      [
        "TIFF for large files",
        () => flat(64, 48, { r: 200, g: 80, b: 40, alpha: 1 }).tiff({ compression: "none", bigtiff: true }),
      ],
      ["TIFF", () => flat(64, 48, { r: 200, g: 80, b: 40, alpha: 1 }).tiff({ compression: "lzw" })],
      ["GIF", () => flat(64, 48, { r: 200, g: 80, b: 40, alpha: 1 }).gif()],
    ],
  } as const;

  forCasesInTurn("a picture of %s keeps its colour", kinds, async ([, make]) => {
    const found = await meanOf(await stored(await upload(await make().toBuffer())));
    expect(found.slice(0, 3).map((mean, at) => Math.abs(mean - ([200, 80, 40][at] ?? 0)) < 25)).toEqual([
      true,
      true,
      true,
    ]);
  });
});

test("of an animation the first picture is taken, with a word", inAll, async () => {
  const frames = Buffer.concat([Buffer.alloc(20 * 20 * 3, 10), Buffer.alloc(20 * 20 * 3, 200)]);
  const raw = { width: 20, height: 40, channels: 3, pageHeight: 20 } as const;
  for (const format of ["webp", "gif"] as const) {
    const image = await upload(
      await sharp(frames, { raw }).toFormat(format, { loop: 0, lossless: true }).toBuffer(),
    );
    expect(image).toMatchObject({ heightPx: 20, notes: ["first_picture"] });
    expect((await meanOf(await stored(image)))[0]).toBe(10);
  }
});

test("an animation is one without a loop, too, and a later picture is taken where the first shows nothing", async () => {
  const page = (shade: number, alpha: number) =>
    Buffer.from(Array.from({ length: 20 * 20 }, () => [shade, shade, shade, alpha]).flat());
  const raw = { width: 20, height: 60, channels: 4, pageHeight: 20 } as const;
  for (const format of ["webp", "gif"] as const) {
    const film = (...pages: Buffer[]) =>
      sharp(Buffer.concat(pages), { raw }).toFormat(format, { loop: 1, lossless: true }).toBuffer();
    const image = await upload(await film(page(0, 0), page(200, 255), page(90, 255)));
    expect(image).toMatchObject({ widthPx: 20, heightPx: 20, notes: ["first_picture"] });
    expect((await meanOf(await stored(image)))[0]).toBe(200);
  }
  const whole = await sharp(Buffer.concat([page(10, 255), page(20, 255), page(30, 255)]), { raw })
    .gif({ loop: 0 })
    .toBuffer();
  const loop = whole.indexOf("NETSCAPE2.0") - 3;
  const once = Buffer.concat([whole.subarray(0, loop), whole.subarray(loop + 19)]);
  expect(once.includes("NETSCAPE")).toBe(false);
  expect(await upload(once)).toMatchObject({ notes: ["first_picture"] });
  const nothing = { create: { width: 9, height: 9, channels: 4, background: "#0000" } } as const;
  expect(await upload(await sharp(nothing).gif().toBuffer())).toMatchObject({ notes: [] });
});

/** Of a GIF: the start of what stands before each picture. */
const frameStart = Buffer.from([0x21, 0xf9, 4]);

test("an animation that begins with nothing is taken as it is where a later picture is damaged", async () => {
  const pages = Buffer.alloc(3 * 20 * 20 * 4, 200).fill(0, 0, 20 * 20 * 4);
  const raw = { width: 20, height: 60, channels: 4, pageHeight: 20 } as const;
  for (let at = 0; at < 20 * 20 * 4; at += 1) pages[20 * 20 * 4 + at] = (at * at) % 251;
  const picture = sharp(pages, { raw });
  const webp = await picture.webp({ lossless: true }).toBuffer();
  const gif = await picture.gif({ effort: 1 }).toBuffer();
  const webpFrame = webp.indexOf("ANMF", webp.indexOf("ANMF") + 4) + 40;
  const secondAt = gif.indexOf(frameStart, gif.indexOf(frameStart) + 1);
  const gifFrame = secondAt + 18 + 3 * 2 ** (((gif[secondAt + 17] ?? 0) & 7) + 1);
  const damaged = [
    [webp, webpFrame, webpFrame + 200],
    // Its pixels, and the bits of its first code.
    [gif, gifFrame + 2, gifFrame + 60],
    [gif, gifFrame, gifFrame + 1],
  ] as const;
  for (const [whole, from, to] of damaged) {
    const bytes = Buffer.from(whole).fill(0xff, from, to);
    await expect(sharp(bytes, { page: 1 }).raw().toBuffer()).rejects.toThrow(/2vips|gif/);
    const image = await upload(bytes);
    expect(image).toMatchObject({ widthPx: 20, heightPx: 20, notes: ["first_picture"] });
    const { channels } = await sharp(await stored(image)).stats();
    expect(channels[3]?.max).toBe(0);
  }
});

test(
  "a picture above the limit of pixels is refused, or scaled down where that is asked for",
  inAll,
  async () => {
    const bytes = await flat(9_000, 6_600).jpeg({ quality: 60 }).withMetadata({ orientation: 6 }).toBuffer();
    await expect(upload(bytes)).rejects.toMatchObject({ code: "upload_too_many_pixels" });
    const image = await upload(bytes, { scaleDown: true });
    expect(image.notes).toEqual(["scaled_down"]);
    expect(image.heightPx / image.widthPx).toBeCloseTo(9_000 / 6_600, 2);
    const pixels = image.widthPx * image.heightPx;
    expect(pixels).toBeLessThanOrEqual(uploadLimits.pixels);
    expect(pixels).toBeGreaterThan(0.99 * uploadLimits.pixels);
  },
);

type Page = Readonly<{ side: number; shade: number; kind: number; isInner?: boolean }>;

const tiffEntries = 10;
const tiffHeadBytes = 2 + tiffEntries * 12 + 4;
const shortTags = new Set([258, 259, 262, 296]);

/** The tags of a grey page that begins there; where no other stands within it, a unit says nothing. */
const tiffFacts = (
  { side, kind }: Page,
  start: number,
  inner: number | undefined,
): readonly (readonly [name: number, value: number])[] => [
  [254, kind],
  [256, side],
  [257, side],
  [258, 8],
  [259, 1],
  [262, 1],
  [273, start + tiffHeadBytes],
  [278, side],
  [279, side * side],
  inner === undefined ? [296, 1] : [330, inner],
];

/** Writes numbers in an order of bytes. */
const numbersIn = (file: Buffer, isLittle: boolean) => ({
  short: (value: number, at: number) => file[isLittle ? "writeUInt16LE" : "writeUInt16BE"](value, at),
  long: (value: number, at: number) => file[isLittle ? "writeUInt32LE" : "writeUInt32BE"](value, at),
});

/** A grey TIFF of pages, of which each is the next of the one before or stands within the first. */
function tiffOf(pages: readonly Page[], { isLittle = true } = {}): Buffer {
  const startOf = (at: number) =>
    pages.slice(0, at).reduce((sum, { side }) => sum + tiffHeadBytes + side * side, 8);
  const file = Buffer.alloc(startOf(pages.length));
  const { short, long } = numbersIn(file, isLittle);
  file.write(isLittle ? "II" : "MM", "latin1");
  short(42, 2);
  long(8, 4);
  const innerAt = pages.findIndex(({ isInner }) => isInner);
  for (const [at, page] of pages.entries()) {
    const start = startOf(at);
    const facts = tiffFacts(page, start, at === 0 && innerAt > 0 ? startOf(innerAt) : undefined);
    short(tiffEntries, start);
    for (const [each, [name, value]] of facts.entries()) {
      const place = start + 2 + each * 12;
      short(name, place);
      short(shortTags.has(name) ? 3 : 4, place + 2);
      long(1, place + 4);
      (shortTags.has(name) ? short : long)(value, place + 8);
    }
    long(pages[at + 1]?.isInner === false ? startOf(at + 1) : 0, start + tiffHeadBytes - 4);
    file.fill(page.shade, start + tiffHeadBytes, start + tiffHeadBytes + page.side ** 2);
  }
  return file;
}

test("of a TIFF that begins with a smaller copy the picture itself is taken", inAll, async () => {
  const small = { side: 8, shade: 200, kind: 1 };
  const whole = { side: 64, shade: 40, kind: 0 };
  for (const isLittle of [true, false])
    for (const isInner of [true, false])
      for (const pages of [
        [small, { ...whole, isInner }],
        [small, { ...small, side: 16, isInner: false }, { ...whole, isInner }],
      ]) {
        const image = await upload(tiffOf(pages, { isLittle }));
        expect(image).toMatchObject({ widthPx: 64, heightPx: 64, notes: [] });
        expect((await meanOf(await stored(image)))[0]).toBe(40);
      }
  const alone = await upload(tiffOf([small]));
  expect(alone).toMatchObject({ widthPx: 8, notes: [] });
  const pages = await upload(tiffOf([whole, { ...whole, shade: 99, isInner: false }]));
  expect(pages).toMatchObject({ widthPx: 64, notes: ["first_picture"] });
  expect((await meanOf(await stored(pages)))[0]).toBe(40);
});

/** A TIFF of 64 × 64 pixels that are all the same. */
function flatTiff(pixel: readonly number[], facts: Readonly<Record<number, readonly number[]>>): Buffer {
  const entries = Object.entries({
    256: [64],
    257: [64],
    258: pixel.map(() => 8),
    259: [1],
    262: [2],
    273: [0],
    277: [pixel.length],
    278: [64],
    279: [64 * 64 * pixel.length],
    ...facts,
  });
  const behind = 8 + 2 + 12 * entries.length + 4;
  const lists = entries.map(([, values]) => (values.length > 2 ? 2 * values.length : 0));
  const pixelsAt = behind + lists.reduce((sum, bytes) => sum + bytes, 0);
  const file = Buffer.alloc(pixelsAt + 64 * 64 * pixel.length, Buffer.from(pixel));
  file.fill(0, 0, pixelsAt).write("II*\0", "latin1");
  file.fill(Buffer.from(pixel), pixelsAt);
  file.writeUInt32LE(8, 4);
  file.writeUInt16LE(entries.length, 8);
  let listAt = behind;
  for (const [each, [name, values]] of entries.entries()) {
    const at = 10 + 12 * each;
    const isOffset = name === "273" || name === "279";
    file.writeUInt16LE(Number(name), at);
    file.writeUInt16LE(isOffset ? 4 : 3, at + 2);
    file.writeUInt32LE(values.length, at + 4);
    if (name === "273") file.writeUInt32LE(pixelsAt, at + 8);
    else if (isOffset) file.writeUInt32LE(values[0] ?? 0, at + 8);
    else {
      if (values.length > 2) file.writeUInt32LE(listAt, at + 8);
      const from = values.length > 2 ? listAt : at + 8;
      for (const [place, value] of values.entries()) file.writeUInt16LE(value, from + 2 * place);
      if (values.length > 2) listAt += 2 * values.length;
    }
  }
  return file;
}

test.each([
  ["a selection", [200, 80, 40, 0], [0], [200, 80, 40]],
  ["two selections", [200, 80, 40, 0, 9], [0, 0], [200, 80, 40]],
  ["transparency and a selection", [200, 80, 40, 128, 9], [2, 0], [200, 80, 40, 128]],
  ["transparency", [200, 80, 40, 128], [2], [200, 80, 40, 128]],
] as const)(
  "of a TIFF with %s beside its colours no selection is taken for transparency",
  async (_name, pixel, extras, kept) => {
    const bytes = flatTiff(pixel, { 338: extras });
    const image = await upload(bytes);
    expect(image.notes).toEqual([]);
    expect(await meanOf(await stored(image))).toEqual(kept);
  },
);

test("a TIFF of a selection is scaled down with all that it shows", async () => {
  const bytes = flatTiff([200, 80, 40, 0], { 338: [0] });
  const { task } = await planUpload(bytes, { role: "upload" });
  if (task.as !== "photo") throw new Error("no photo");
  const pixels = await decodePhoto(bytes, { ...task, longerSidePx: 16 });
  expect(pixels).toMatchObject({ widthPx: 16, heightPx: 16, channels: 3 });
  expect([...pixels.data.subarray(0, 3)]).toEqual([200, 80, 40]);
});

test.each([
  ["a compression that is not known", { 259: [50_000] }, "compression 50000"],
  ["whole numbers of 32 bits", { 258: [32, 32, 32] }, "RGB of 32 bits"],
  ["64 bits", { 258: [64, 64, 64], 339: [3, 3, 3] }, "RGB of float 64 bits"],
  ["12 bits", { 258: [12, 12, 12] }, "RGB of 12 bits"],
  ["grey of 12 bits", { 258: [12], 262: [1], 277: [1] }, "grey of 12 bits"],
  ["1 bit of each colour", { 258: [1, 1, 1] }, "RGB of 1 bits"],
  ["grey and transparency of 4 bits", { 258: [4, 4], 262: [1], 277: [2], 338: [2] }, "grey of 2 channels"],
  ["grey from 0 to 1", { 258: [32], 262: [1], 277: [1], 339: [3] }, "grey of float 32 bits"],
  ["white from 0 to 1 of 16 bits", { 258: [16], 262: [0], 277: [1], 339: [3] }, "grey of float 16 bits"],
  ["signed numbers", { 258: [16, 16, 16], 339: [2, 2, 2] }, "RGB of signed 16 bits"],
  ["signed numbers of 32 bits", { 258: [32, 32, 32], 339: [2, 2, 2] }, "RGB of signed 32 bits"],
  ["complex numbers", { 258: [32, 32, 32], 339: [5, 5, 5] }, "RGB of kind 5 32 bits"],
  ["CMYK of 32 bits", { 258: [32, 32, 32], 262: [5], 339: [3, 3, 3] }, "CMYK of float 32 bits"],
  ["a palette of 16 bits", { 258: [16], 262: [3], 277: [1] }, "a palette of 16 bits"],
  ["a palette and transparency", { 258: [8, 8], 262: [3], 277: [2] }, "a palette of 2 channels"],
  ["YCbCr that is not compressed as JPEG", { 262: [6], 530: [1, 1] }, "YCbCr without JPEG"],
  ["colours of another kind", { 262: [9] }, "colours 9"],
  ["Lab of 8 bits", { 262: [8] }, "Lab of 8 bits"],
  ["Lab and transparency", { 258: [16, 16, 16, 16], 262: [8], 277: [4] }, "Lab with transparency"],
  ["more channels than can be decoded", { 277: [6] }, "6 channels"],
])("a TIFF with %s is no damaged file", async (_name, facts, found) => {
  await expect(upload(flatTiff([1, 2, 3], facts))).rejects.toMatchObject({
    code: "upload_unsupported",
    message: expect.stringContaining("8 or 16 bits"),
    details: { found: `image/tiff; ${found}` },
  });
});

const floats = (...values: readonly number[]) => [...new Uint8Array(Float32Array.from(values).buffer)];

test.each([
  ["floating point", floats(0.8, 0.4, 0.2), { 258: [32, 32, 32], 277: [3], 339: [3, 3, 3] }, [231, 170, 124]],
  [
    "floating point of 16 bits",
    [0x00, 0x38, 0x00, 0x3c, 0, 0],
    { 258: [16, 16, 16], 277: [3], 339: [3, 3, 3] },
    [188, 255, 0],
  ],
  [
    "Lab of floating point",
    floats(100, 0, 0),
    { 258: [32, 32, 32], 262: [8], 277: [3], 339: [3, 3, 3] },
    [255, 255, 255],
  ],
  ["grey of 4 bits", [0xcc], { 258: [4], 262: [1] }, [204, 204, 204]],
  ["grey of 2 bits, white at 0", [0x55], { 258: [2], 262: [0] }, [170, 170, 170]],
  [
    "YCbCr of halves",
    [150, 150, 150, 150, 128, 128],
    { 262: [6], 277: [3], 258: [8, 8, 8] },
    [150, 150, 150],
  ],
] as const)("a TIFF of %s is read as it is meant", async (_name, pixel, facts, expected) => {
  const found = await meanOf(await stored(await upload(flatTiff(pixel, facts))));
  expect(found.slice(0, 3)).toEqual(expected);
});

test("S2 the entries of all copies in a TIFF are counted together", async () => {
  const [entries, copies] = [500, 60];
  const bytesEach = 2 + entries * 12 + 4;
  const file = Buffer.alloc(8 + copies * bytesEach);
  file.write("II*\0", "latin1");
  file.writeUInt32LE(8, 4);
  for (let copy = 0; copy < copies; copy += 1) {
    const start = 8 + copy * bytesEach;
    file.writeUInt16LE(entries, start);
    for (let each = 0; each < entries; each += 1) {
      file.writeUInt16LE(each === 0 ? 254 : 40_000 + each, start + 2 + each * 12);
      file.writeUInt16LE(4, start + 4 + each * 12);
      file.writeUInt32LE(1, start + 6 + each * 12);
      file.writeUInt32LE(1, start + 10 + each * 12);
    }
    file.writeUInt32LE(copy + 1 < copies ? start + bytesEach : 0, start + bytesEach - 4);
  }
  await expect(upload(file)).rejects.toMatchObject({
    code: "upload_unreadable",
    details: { reason: "too many parts" },
  });
});

test.each([
  ["a JPEG XL", "\0\0\0\x0cJXL \r\n\x87\n", "JPEG XL"],
  ["a bitmap", `BM${"\0".repeat(60)}`, "BMP"],
  ["a TGA", `\0\0\x02${"\0".repeat(60)}`, "TGA"],
  ["a mouse pointer", `\0\0\x02\0\x01\0${"\0".repeat(60)}`, "icon"],
  ["a camera's raw file named as JPEG", "FUJIFILMCCD-RAW 0201", "raw file of a camera"],
  ["a live photo's film", "\0\0\0\x14ftypqt  \0\0\0\0qt  ", "video"],
  ["nothing", "", "empty"],
  ["zeros", "\0".repeat(500), "empty"],
  [
    "a side file of macOS",
    `\x00\x05\x16\x07\x00\x02\x00\x00Mac OS X${"\0".repeat(40)}`,
    "side file of macOS",
  ],
  ["a PDF", "%PDF-1.7\n", "PDF"],
  ["a folder's list of macOS", `\0\0\0\x01Bud1${"\0".repeat(40)}`, "Only JPEG"],
])("the refusal of %s says what it is", async (_name, content, word) => {
  await expect(upload(latin1(content), { name: "IMG_1.jpg" })).rejects.toMatchObject({
    code: "upload_unsupported",
    message: expect.stringContaining(word),
  });
});
