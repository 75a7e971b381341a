import { addUser, cornersPicture, readCorners, readFileOf, readSample } from "@atelier/testing/pictures";
import { createTestServices, type TestServices } from "@atelier/testing/services";
import sharp from "sharp";
import { thumbHashToRGBA } from "thumbhash";
import { afterAll, beforeAll, expect, test } from "vitest";
import { ingest, type IngestedImage, type Variant } from "./index.ts";

let opened: TestServices;
let ownerId: string;

beforeAll(async () => {
  opened = await createTestServices();
  ownerId = await addUser(opened.services);
});
afterAll(() => opened.close());

const upload = (bytes: Buffer, name?: string) =>
  ingest(opened.services, { ownerId, role: "upload", bytes, name });

const readFile = ({ id }: IngestedImage, variant: Variant) => readFileOf(opened.services, id, variant);

test.each([1, 2, 3, 4, 5, 6, 7, 8])("EXIF orientation %i is applied to all files", async (orientation) => {
  const upright = cornersPicture(64, 32);
  const bytes = await upright.withMetadata({ orientation }).jpeg({ quality: 100 }).toBuffer();
  const expected = await sharp(bytes).autoOrient().png().toBuffer();
  const turned = orientation > 4;
  const image = await upload(bytes);
  expect(image).toMatchObject({ widthPx: turned ? 32 : 64, heightPx: turned ? 64 : 32 });
  for (const variant of ["original", "preview", "thumbnail"] as const) {
    const file = await readFile(image, variant);
    expect(await readCorners(file)).toEqual(await readCorners(expected));
    expect((await sharp(file).metadata()).orientation).toBeUndefined();
  }
  const { w, h } = thumbHashToRGBA(Buffer.from(image.thumbhash, "base64"));
  expect(w > h).toBe(!turned);
});

test("colours of a wide profile are converted to sRGB", async () => {
  const green = sharp({
    create: { width: 32, height: 32, channels: 3, background: { r: 60, g: 200, b: 60 } },
  });
  const wide = await green.withIccProfile("p3").png().toBuffer();
  const image = await upload(wide);
  const { channels } = await sharp(await readFile(image, "original")).stats();
  expect(channels.map(({ mean }) => Math.round(mean / 4))).toEqual([15, 50, 15]);
  const raw = await sharp(wide, { ignoreIcc: true }).stats();
  expect(Math.round(raw.channels[0]?.mean ?? 0)).not.toBe(60);
});

test("an AVIF with a side that WebP cannot hold is stored as PNG", async () => {
  const bytes = await sharp({ create: { width: 16_384, height: 16, channels: 3, background: "red" } })
    .avif({ effort: 0 })
    .toBuffer();
  const image = await upload(bytes);
  expect(image).toMatchObject({ mime: "image/png", widthPx: 16_384, heightPx: 16 });
  expect(await sharp(await readFile(image, "original")).metadata()).toMatchObject({
    format: "png",
    width: 16_384,
  });
});

test("a PNG with transparency keeps its pixels and its alpha exactly", async () => {
  const bytes = await sharp(await readSample("coffee.png"))
    .resize(200)
    .ensureAlpha(0.4)
    .png()
    .toBuffer();
  const image = await upload(bytes);
  const stored = await sharp(await readFile(image, "original"))
    .raw()
    .toBuffer({ resolveWithObject: true });
  expect(stored.info.channels).toBe(4);
  expect(stored.data.equals(await sharp(bytes).raw().toBuffer())).toBe(true);
  expect(await sharp(await readFile(image, "preview")).metadata()).toMatchObject({ hasAlpha: true });
});

test.each([
  [
    "16-bit PNG",
    "image/png",
    async () =>
      sharp(await readSample("chelsea.png"))
        .toColourspace("rgb16")
        .png()
        .toBuffer(),
  ],
  [
    "16-bit grey PNG",
    "image/png",
    async () =>
      sharp(await readSample("chelsea.png"))
        .toColourspace("grey16")
        .png()
        .toBuffer(),
  ],
  [
    "palette PNG",
    "image/png",
    async () =>
      sharp(await readSample("chelsea.png"))
        .png({ palette: true, colours: 8 })
        .toBuffer(),
  ],
  [
    "interlaced PNG",
    "image/png",
    async () =>
      sharp(await readSample("chelsea.png"))
        .png({ progressive: true })
        .toBuffer(),
  ],
  [
    "grey JPEG",
    "image/jpeg",
    async () =>
      sharp(await readSample("chelsea.png"))
        .toColourspace("b-w")
        .jpeg()
        .toBuffer(),
  ],
  [
    "CMYK JPEG",
    "image/jpeg",
    async () =>
      sharp(await readSample("chelsea.png"))
        .toColourspace("cmyk")
        .jpeg()
        .toBuffer(),
  ],
  [
    "progressive JPEG",
    "image/jpeg",
    async () =>
      sharp(await readSample("chelsea.png"))
        .jpeg({ progressive: true, mozjpeg: true })
        .toBuffer(),
  ],
  [
    "WebP",
    "image/webp",
    async () =>
      sharp(await readSample("chelsea.png"))
        .webp()
        .toBuffer(),
  ],
  [
    "AVIF",
    "image/webp",
    async () =>
      sharp(await readSample("chelsea.png"))
        .avif({ effort: 1 })
        .toBuffer(),
  ],
])("a %s is stored as %s with 8 bits in sRGB", async (_name, mime, make) => {
  const bytes = await make();
  const image = await upload(bytes);
  expect(image.mime).toBe(mime);
  const original = await readFile(image, "original");
  expect(await sharp(original).metadata()).toMatchObject({ space: "srgb", depth: "uchar", mediaType: mime });
  const means = async (file: Buffer) =>
    (await sharp(await sharp(file).toColourspace("srgb").png().toBuffer()).stats()).channels.map(
      (each) => each.mean,
    );
  const [expected, stored] = [await means(bytes), await means(original)];
  for (const [at, mean] of stored.entries()) expect(Math.abs(mean - (expected[at] ?? -99))).toBeLessThan(2.5);
});

test("a lossless WebP stays lossless", async () => {
  const bytes = await sharp(await readSample("chelsea.png"))
    .webp({ lossless: true })
    .toBuffer();
  const original = await readFile(await upload(bytes), "original");
  expect((await sharp(original).raw().toBuffer()).equals(await sharp(bytes).raw().toBuffer())).toBe(true);
});
