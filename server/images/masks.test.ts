import { addUser, readSample } from "@atelier/testing/pictures";
import { createTestServices, type TestServices } from "@atelier/testing/services";
import { eq } from "drizzle-orm";
import sharp, { type Sharp } from "sharp";
import { afterAll, beforeAll, expect, test } from "vitest";
import { schema } from "../db/index.ts";
import { ingest, listImages } from "./index.ts";

let opened: TestServices;
let ownerId: string;

beforeAll(async () => {
  opened = await createTestServices();
  ownerId = await addUser(opened.services);
});
afterAll(() => opened.close());

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
  expect(Math.max(...data.map((value, at) => Math.abs(value - (expected[at] ?? 0))))).toBeLessThanOrEqual(1);
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
  const [green, blue] = [await storeMask(await colour("#00ff00")), await storeMask(await colour("#0000ff"))];
  expect(green.data[0]).toBeGreaterThan(blue.data[0] ?? 255);
});

test("masks are never listed", async () => {
  await ingest(opened.services, { ownerId, role: "upload", bytes: await readSample("rocket.jpg") });
  const { items } = await listImages(opened.services, { ownerId });
  expect(items.map(({ role }) => role)).toEqual(["upload"]);
});
