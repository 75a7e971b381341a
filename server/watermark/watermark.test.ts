import { readSample } from "@atelier/testing/pictures";
import sharp from "sharp";
import { describe, expect, test } from "vitest";
import { findMark, markPixels } from "./index.ts";

const samples = [
  "astronaut.png",
  "chelsea.png",
  "coffee.png",
  "rocket.jpg",
  "garment_dress.jpg",
  "garment_hoodie.jpg",
  "garment_tee.jpg",
  "garment_long_sleeve.jpg",
] as const;

async function pixelsOf(bytes: Buffer, alpha = false) {
  const picture = sharp(bytes).toColourspace("srgb");
  const { data, info } = await (alpha ? picture.ensureAlpha() : picture.removeAlpha())
    .raw()
    .toBuffer({ resolveWithObject: true });
  return { data, widthPx: info.width, heightPx: info.height, channels: info.channels };
}

type Pixels = Awaited<ReturnType<typeof pixelsOf>>;

const pngOf = ({ data, widthPx: width, heightPx: height, channels }: Pixels) =>
  sharp(data, { raw: { width, height, channels } }).png({ compressionLevel: 1 }).toBuffer();

function decibels(one: Buffer, other: Buffer): number {
  const squares = one.reduce((sum, value, at) => sum + (value - (other[at] ?? 0)) ** 2, 0);
  return 10 * Math.log10(255 ** 2 / (squares / one.length));
}

const idOfName = (name: string) => (name.length * 0x9e3779b1 + name.charCodeAt(0)) >>> 0;

describe.each(samples)("a marked %s", async (name) => {
  const pixels = await pixelsOf(await readSample(name));
  const before = Buffer.from(pixels.data);
  const id = idOfName(name);
  const isMarked = markPixels(pixels, id);
  const png = await pngOf(pixels);
  const { widthPx: width, heightPx: height } = pixels;
  const cut = {
    left: Math.round(width * 0.037),
    top: Math.round(height * 0.061),
    width: Math.round(width * 0.95),
    height: Math.round(height * 0.9),
  };
  const half = Math.round(width / 2);

  test("looks the same: 41 dB and more", () => {
    expect(isMarked).toBe(true);
    expect(decibels(pixels.data, before)).toBeGreaterThan(41);
  });

  test.each([
    ["as it is", () => png],
    ["as a JPEG of quality 75", () => sharp(png).jpeg({ quality: 75 }).toBuffer()],
    ["as a WebP of quality 80", () => sharp(png).webp({ quality: 80 }).toBuffer()],
    ["at half the size", () => sharp(png).resize(half).png().toBuffer()],
    ["with a tenth cut off", () => sharp(png).extract(cut).png().toBuffer()],
    ["cut and as a JPEG of quality 75", () => sharp(png).extract(cut).jpeg({ quality: 75 }).toBuffer()],
  ])("is known %s", async (_how, make) => {
    expect((await findMark(await make()))?.id).toBe(id);
  });

  test("has none before", async () => {
    expect(await findMark(await pngOf({ ...pixels, data: before }))).toBeNull();
  });
});

test("the last of several marks counts", async () => {
  const pixels = await pixelsOf(await readSample("coffee.png"));
  markPixels(pixels, 1);
  markPixels(pixels, 2);
  const found = await findMark(await pngOf(pixels));
  expect(found === null || found.id === 1 || found.id === 2).toBe(true);
});

describe("is left as it is:", () => {
  test("a small picture", async () => {
    const pixels = await pixelsOf(
      await sharp(await readSample("coffee.png"))
        .resize(250)
        .png()
        .toBuffer(),
    );
    const before = Buffer.from(pixels.data);
    expect(markPixels(pixels, 7)).toBe(false);
    expect(pixels.data.equals(before)).toBe(true);
  });

  test("a cut-out", async () => {
    const pixels = await pixelsOf(await readSample("coffee.png"), true);
    pixels.data[3] = 254;
    const before = Buffer.from(pixels.data);
    expect(markPixels(pixels, 7)).toBe(false);
    expect(pixels.data.equals(before)).toBe(true);
  });
});

test("an opaque picture with an alpha channel and a grey one are marked, too", async () => {
  const opaque = await pixelsOf(await readSample("coffee.png"), true);
  expect(markPixels(opaque, 7)).toBe(true);
  expect((await findMark(await pngOf(opaque)))?.id).toBe(7);
  const grey = await pixelsOf(
    await sharp(await readSample("coffee.png"))
      .greyscale()
      .toColourspace("b-w")
      .png()
      .toBuffer(),
  );
  expect(markPixels(grey, 9)).toBe(true);
  expect((await findMark(await pngOf(grey)))?.id).toBe(9);
});

test("what is no picture has none", async () => {
  expect(await findMark(Buffer.from("no picture"))).toBeNull();
  expect(await findMark(Buffer.alloc(0))).toBeNull();
});
