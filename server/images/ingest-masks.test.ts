import { eq } from "drizzle-orm";
import sharp, { type Sharp } from "sharp";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { addUser, readSample } from "@atelier/testing/pictures";
import { createTestServices, type TestServices } from "@atelier/testing/services";
import { schema } from "../db/index.ts";
import { ingest, listImages } from "./index.ts";

let opened: TestServices;
afterAll(() => opened.close());

describe("masks", () => {
  let ownerId: string;

  beforeAll(async () => {
    opened = await createTestServices();
    ownerId = await addUser(opened.services);
  });

  async function storeMask(bytes: Buffer) {
    const { services } = opened;
    const image = await ingest(services, { ownerId, role: "mask", bytes });
    const [row] = await services.db.select().from(schema.images).where(eq(schema.images.id, image.id));
    const original = Buffer.from(await services.disk.getBytes(`${row?.storageKey}/original.png`));
    const { data, info } = await sharp(original)
      .toColourspace("b-w")
      .raw()
      .toBuffer({ resolveWithObject: true });
    return { image, original, data, info };
  }

  /** 40 × 20: the left half black, the right half white, with a grey column in the middle. */
  function stripes(): Sharp {
    const data = Buffer.alloc(40 * 20);
    for (let at = 0; at < data.length; at += 1) data[at] = at % 40 < 20 ? 0 : 255;
    for (let y = 0; y < 20; y += 1) data[y * 40 + 20] = 128;
    return sharp(data, { raw: { width: 40, height: 20, channels: 1 } });
  }

  const grey = () => stripes().toColourspace("b-w").png().toBuffer();

  test.each([
    ["grey", grey],
    ["RGB", () => stripes().toColourspace("srgb").png().toBuffer()],
    [
      "RGBA",
      async () =>
        sharp(await grey())
          .toColourspace("srgb")
          .ensureAlpha()
          .png()
          .toBuffer(),
    ],
    [
      "palette",
      async () =>
        sharp(await grey())
          .png({ palette: true, colours: 4, dither: 0 })
          .toBuffer(),
    ],
    [
      "16-bit",
      async () =>
        sharp(await grey())
          .toColourspace("grey16")
          .png()
          .toBuffer(),
    ],
    [
      "lossless WebP",
      async () =>
        sharp(await grey())
          .webp({ lossless: true })
          .toBuffer(),
    ],
  ])("a %s mask is stored as one grey channel with exactly its values", async (_name, make) => {
    const { image, original, data, info } = await storeMask(await make());
    expect(image).toMatchObject({ role: "mask", mime: "image/png", widthPx: 40, heightPx: 20 });
    expect(await sharp(original).metadata()).toMatchObject({ channels: 1, depth: "uchar", space: "b-w" });
    expect(info.channels).toBe(1);
    const expected = await sharp(await grey())
      .toColourspace("b-w")
      .raw()
      .toBuffer();
    expect(Math.max(...data.map((value, at) => Math.abs(value - (expected[at] ?? 0))))).toBeLessThanOrEqual(
      1,
    );
    expect([data[0], data[39]]).toEqual([0, 255]);
  });

  test("white strokes on a transparent ground count as white on black", async () => {
    const rgba = Buffer.alloc(40 * 20 * 4);
    for (let at = 0; at < 40 * 20; at += 1) if (at % 40 >= 20) rgba.fill(255, at * 4, at * 4 + 4);
    const { data } = await storeMask(
      await sharp(rgba, { raw: { width: 40, height: 20, channels: 4 } })
        .png()
        .toBuffer(),
    );
    expect([data[0], data[19], data[20], data[39]]).toEqual([0, 0, 255, 255]);
  });

  test("colours count by their luminance", async () => {
    const colour = (background: string) =>
      sharp({ create: { width: 8, height: 8, channels: 3, background } })
        .png()
        .toBuffer();
    const [green, blue] = [
      await storeMask(await colour("#00ff00")),
      await storeMask(await colour("#0000ff")),
    ];
    expect(green.data[0]).toBeGreaterThan(blue.data[0] ?? 255);
  });

  /** A ground with a rectangle of alpha `inside`; everything else has the alpha `outside`. */
  const drawAlpha = (colour: readonly number[], [outside, inside]: readonly [number, number]) => {
    const rgba = Buffer.alloc(40 * 20 * 4);
    for (let at = 0; at < 40 * 20; at += 1) {
      const [x, y] = [at % 40, Math.floor(at / 40)];
      const isInside = x >= 10 && x < 20 && y >= 5 && y < 15;
      rgba.set([...colour, isInside ? inside : outside], at * 4);
    }
    return sharp(rgba, { raw: { width: 40, height: 20, channels: 4 } })
      .png()
      .toBuffer();
  };

  test.each([
    ["a hole in white", [255, 255, 255], [255, 0], [0, 255]],
    ["a hole in black", [0, 0, 0], [255, 0], [0, 255]],
    ["a hole in a photo", [180, 90, 40], [255, 0], [0, 255]],
    ["a soft hole", [255, 255, 255], [255, 55], [0, 200]],
    ["black strokes", [0, 0, 0], [0, 255], [0, 255]],
    ["coloured strokes, half transparent", [255, 200, 0], [0, 186], [0, 186]],
    ["white strokes", [255, 255, 255], [0, 255], [0, 255]],
  ] as const)("a mask of %s is read by its alpha", async (_name, colour, alphas, [outside, inside]) => {
    const { data } = await storeMask(await drawAlpha(colour, alphas));
    expect([data[0], data[5 * 40 + 10], data[14 * 40 + 19], data[15 * 40 + 20]]).toEqual([
      outside,
      inside,
      inside,
      outside,
    ]);
  });

  test("a mask in black and white counts by grey, whatever is transparent besides", async () => {
    const rgba = Buffer.alloc(40 * 20 * 4);
    for (let at = 0; at < 40 * 20; at += 1) {
      const grey = at % 40 < 20 ? 255 : 0;
      rgba.set([grey, grey, grey, at < 5 * 40 ? 0 : 255], at * 4);
    }
    const png = sharp(rgba, { raw: { width: 40, height: 20, channels: 4 } }).png();
    const { data } = await storeMask(await png.toBuffer());
    expect([data[0], data[19 * 40], data[19 * 40 + 39]]).toEqual([0, 255, 0]);
  });

  test("masks are never listed", async () => {
    await ingest(opened.services, { ownerId, role: "upload", bytes: await readSample("rocket.jpg") });
    const { items } = await listImages(opened.services, { ownerId });
    expect(items.map(({ role }) => role)).toEqual(["upload"]);
  });
});
