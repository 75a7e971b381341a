import { readFile } from "node:fs/promises";
import path from "node:path";
import { inAll } from "@atelier/testing/cases";
import { readSample } from "@atelier/testing/pictures";
import sharp from "sharp";
import { describe, expect, test } from "vitest";
import { findMark, markPixels } from "./index.ts";
import { clearestSquare } from "./residual.ts";

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

const cutOf = ({ widthPx, heightPx }: Pixels) => ({
  left: Math.round(widthPx * 0.037),
  top: Math.round(heightPx * 0.061),
  width: Math.round(widthPx * 0.95),
  height: Math.round(heightPx * 0.9),
});

/** A tenth cut off, scaled with each side rounded by itself, and as a JPEG of quality 75. */
async function spoil(png: Buffer, pixels: Pixels, scale: number): Promise<Buffer> {
  const cut = cutOf(pixels);
  const [width, height] = [Math.round(cut.width * scale), Math.round(cut.height * scale)];
  const cutOut = await sharp(png).extract(cut).png().toBuffer();
  return sharp(cutOut).resize(width, height, { fit: "fill" }).jpeg({ quality: 75 }).toBuffer();
}

/** The ends are the hardest for each picture: of small marks little is left, of large ones few are seen. */
const endScales = [0.45, 1.5];
/** Of those between each picture has one, so that each is tried; a search takes a second. */
const innerScales = [0.6, 0.75, 0.9, 1.1, 1.3];
/** What stands for all in `pnpm test`. */
const firstScales: Readonly<Record<string, readonly number[]>> = {
  "coffee.png": [0.4, 0.75],
  "garment_tee.jpg": [0.4, 1.5],
};

function scalesOf(name: (typeof samples)[number]): number[] {
  const inner = innerScales[samples.indexOf(name) % innerScales.length] ?? 1;
  return [...new Set([...(firstScales[name] ?? []), ...endScales, inner])];
}

for (const name of samples)
  describe(`a marked ${name}`, name in firstScales ? {} : inAll, async () => {
    const pixels = await pixelsOf(await readSample(name));
    const before = Buffer.from(pixels.data);
    const id = idOfName(name);
    const isMarked = markPixels(pixels, id);
    const png = await pngOf(pixels);
    const half = Math.round(pixels.widthPx / 2);
    const cut = cutOf(pixels);

    test("looks the same: 41 dB and more, no pixel by more than five steps", () => {
      expect(isMarked).toBe(true);
      const steps = pixels.data.map((value, at) => Math.abs(value - (before[at] ?? 0)));
      expect(steps.reduce((most, step) => Math.max(most, step), 0)).toBe(5);
      expect(decibels(pixels.data, before)).toBeGreaterThan(41);
    });

    test.each([
      ["as it is", () => png],
      ["as a JPEG of quality 75", () => sharp(png).jpeg({ quality: 75 }).toBuffer()],
      ["as a WebP of quality 80", () => sharp(png).webp({ quality: 80 }).toBuffer()],
      ["at half the size", () => sharp(png).resize(half).png().toBuffer()],
      [
        "at half the size and as a JPEG of quality 75",
        () => sharp(png).resize(half).jpeg({ quality: 75 }).toBuffer(),
      ],
      ["with a tenth cut off", () => sharp(png).extract(cut).png().toBuffer()],
      ["cut and as a JPEG of quality 75", () => sharp(png).extract(cut).jpeg({ quality: 75 }).toBuffer()],
    ])("is known %s", async (_how, make) => {
      expect((await findMark(await make()))?.id).toBe(id);
    });

    const first = firstScales[name] ?? [];
    for (const scale of scalesOf(name))
      test(
        `is known at ${scale} of the size, cut and as a JPEG of quality 75`,
        first.includes(scale) ? {} : inAll,
        async () => {
          const found = await findMark(await spoil(png, pixels, scale));
          expect(found?.id).toBe(id);
          expect(found?.scale.across).toBeCloseTo(1.5 * scale, 1);
        },
      );

    test("has none before", name === "garment_tee.jpg" ? {} : inAll, async () => {
      expect(await findMark(await pngOf({ ...pixels, data: before }))).toBeNull();
    });
  });

/** Pictures that the first version marked, whose chips had 2 px and hard edges: a photo in grey, and one with a single colour. */
const firstMarked = [
  ["first-grey.webp", 0x0badcafe],
  ["first-flat.webp", 0x12345678],
] as const;

test.each(firstMarked)("the mark of the first version is known in %s, also scaled", async (name, id) => {
  const bytes = await readFile(path.join(import.meta.dirname, "../../testing/pictures/marks", name));
  for (const made of [
    bytes,
    await sharp(bytes).jpeg({ quality: 75 }).toBuffer(),
    await sharp(bytes).resize(340).jpeg({ quality: 75 }).toBuffer(),
  ])
    expect((await findMark(made))?.id).toBe(id);
});

test("all sizes are searched in the middle, or beside one that is nothing but white", () => {
  const side = 600;
  const plane = (isLeft: (x: number) => boolean) => ({
    data: Float32Array.from({ length: side ** 2 }, (_, at) => (isLeft(at % side) ? 1 : 0)),
    widthPx: side,
    heightPx: side,
  });
  const sum = (values: Float32Array) => values.reduce((all, value) => all + value, 0);
  expect(
    sum(
      clearestSquare(
        plane((x) => x < 200),
        200,
      ).data,
    ),
  ).toBe(200 ** 2);
  expect(
    sum(
      clearestSquare(
        plane((x) => x < 310),
        200,
      ).data,
    ),
  ).toBe(200 * 110);
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
