import { access, readdir, stat, truncate, writeFile } from "node:fs/promises";
import path from "node:path";
import { deflateSync } from "node:zlib";
import {
  listObjects,
  pngChunk,
  pngFile,
  pngHeader,
  readSample,
  withPngChunk,
  readDigitalSourceType,
} from "@atelier/testing/pictures";
import { createTestServices, type TestServices } from "@atelier/testing/services";
import sharp, { type Sharp } from "sharp";
import { thumbHashToRGBA } from "thumbhash";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { jobKinds, type JobKind } from "../engines.ts";
import { newId } from "../platform/index.ts";
import { putAll } from "../storage/index.ts";
import { digitalSourceTypes, provenanceXmp } from "../safety.ts";
import {
  discardOutput,
  readOriginalTo,
  storeOutput,
  stripPlainPng,
  type StoredMime,
  type StoreOutputInput,
} from "./index.ts";
import { encodeFiles } from "./encode.ts";
import { withFilePermit } from "./files.ts";
import { sha256 } from "./outputs.ts";

let opened: TestServices;

beforeAll(async () => {
  opened = await createTestServices();
});
afterAll(() => opened.close());
afterEach(async () => {
  for (const key of await listObjects(opened.services))
    await discardOutput(opened.services, path.posix.dirname(key));
});

async function output(
  bytes: Buffer,
  kind: JobKind = "upscale",
  mime: StoredMime = "image/png",
): Promise<StoreOutputInput> {
  const file = path.join(opened.services.env.ATELIER_DATA_DIR, newId());
  await writeFile(file, bytes);
  return { ownerId: "owner", jobId: newId(), attempt: 2, kind, position: 0, path: file, mime };
}

const read = async (key: string) => Buffer.from(await opened.services.disk.getBytes(key));
const pixels = (bytes: Buffer) => sharp(bytes).raw().toBuffer();

test("a result is stored under its job and attempt, with everything that its row needs", async () => {
  const input = await output(await readSample("astronaut.png"));
  const stored = await storeOutput(opened.services, input);
  expect(stored.storageKey).toBe(`jobs/${input.jobId}/2/0`);
  expect(await listObjects(opened.services)).toEqual(
    ["original.png", "preview.webp", "thumbnail.webp"].map((name) => `${stored.storageKey}/${name}`),
  );
  const original = await read(`${stored.storageKey}/original.png`);
  expect(stored).toMatchObject({
    mime: "image/png",
    widthPx: 512,
    heightPx: 512,
    sizeBytes: original.length,
  });
  expect(stored.storedSha256).toBe(sha256(original));
  expect(thumbHashToRGBA(Buffer.from(stored.thumbhash, "base64"))).toMatchObject({ w: 32, h: 32 });
});

test("the pixels are exactly those of the engine's file, transparent ones included", async () => {
  const opaque = await sharp(await readSample("coffee.png"))
    .ensureAlpha()
    .raw()
    .toBuffer({ resolveWithObject: true });
  for (let at = 3; at < opaque.data.length; at += 4) opaque.data[at] = at % 256;
  const { width, height } = opaque.info;
  const cutOut = await sharp(opaque.data, { raw: { width, height, channels: 4 } })
    .png()
    .toBuffer();
  const stored = await storeOutput(opened.services, await output(cutOut, "remove_background"));
  const original = await read(`${stored.storageKey}/original.png`);
  expect((await pixels(original)).equals(opaque.data)).toBe(true);
});

test.each(["image/png", "image/webp"] as const)(
  "a cut-out of type %s holds nothing of what was cut away",
  async (mime) => {
    const { data, info } = await sharp(await readSample("coffee.png"))
      .ensureAlpha()
      .raw()
      .toBuffer({ resolveWithObject: true });
    const { width, height } = info;
    for (let at = 0; at < data.length; at += 4) data[at + 3] = at / 4 < (width * height) / 2 ? 0 : 200;
    const picture = sharp(data, { raw: { width, height, channels: 4 } });
    const encoded = mime === "image/png" ? picture.png() : picture.webp({ lossless: true, exact: true });
    const input = await output(await encoded.toBuffer(), "remove_background", mime);
    const { storageKey } = await storeOutput(opened.services, input);
    const stored = await pixels(await read(`${storageKey}/original.png`));
    const half = stored.length / 2;
    const [cut, kept] = [stored.subarray(0, half), stored.subarray(half)];
    expect(cut.every((value, at) => value === (at % 4 === 3 ? 0 : 255))).toBe(true);
    expect(kept.equals(data.subarray(half))).toBe(true);
  },
);

test.each(["image/jpeg", "image/webp"] as const)(
  "a result of type %s becomes a PNG of the same pixels",
  async (mime) => {
    const bytes = await sharp(await readSample("chelsea.png"))
      .toFormat(mime === "image/jpeg" ? "jpeg" : "webp")
      .toBuffer();
    const stored = await storeOutput(opened.services, await output(bytes, "upscale", mime));
    expect(stored.mime).toBe("image/png");
    expect((await pixels(await read(`${stored.storageKey}/original.png`))).equals(await pixels(bytes))).toBe(
      true,
    );
  },
);

test.each(jobKinds)("S8 all files of a %s say how it was made", async (kind) => {
  const stored = await storeOutput(opened.services, await output(await readSample("chelsea.png"), kind));
  for (const name of ["original.png", "preview.webp", "thumbnail.webp"])
    expect(await readDigitalSourceType(await read(`${stored.storageKey}/${name}`))).toBe(
      digitalSourceTypes[kind],
    );
});

test("edits of a photo are marked as composites, generated pictures as generated", () => {
  const vocabulary = "http://cv.iptc.org/newscodes/digitalsourcetype";
  for (const kind of ["outfit_change", "inpaint", "upscale"] as const)
    expect(digitalSourceTypes[kind]).toBe(`${vocabulary}/compositeWithTrainedAlgorithmicMedia`);
  expect(digitalSourceTypes.text_to_image).toBe(`${vocabulary}/trainedAlgorithmicMedia`);
});

test("S3 what the engine wrote beside the pixels is left out", async () => {
  const secret = "the workflow with its prompt";
  const named = await sharp(await readSample("chelsea.png"))
    .withExif({ IFD0: { Artist: secret } })
    .png()
    .toBuffer();
  const bytes = withPngChunk(named, pngChunk("tEXt", Buffer.from(`prompt\0${secret}`)));
  const stored = await storeOutput(opened.services, await output(bytes));
  const original = await read(`${stored.storageKey}/original.png`);
  expect(bytes.includes(secret)).toBe(true);
  expect(original.includes(secret)).toBe(false);
  expect((await sharp(original).metadata()).exif).toBeUndefined();
});

describe("a plain PNG is stripped without decoding it", () => {
  const noise = (channels: 3 | 4) =>
    sharp(
      Uint8Array.from({ length: 40 * 30 * channels }, (_, at) => (at * at) % 251),
      { raw: { width: 40, height: 30, channels } },
    );
  const secret = "the workflow with its prompt";
  const texts = ["tEXt", "zTXt", "iTXt", "eXIf", "tIME", "prIv"].map((type) =>
    pngChunk(type, Buffer.from(`prompt\0${secret}`)),
  );

  test.each([3, 4] as const)(
    "S3 with %d channels: the same pixels, nothing of the texts",
    async (channels) => {
      const png = await noise(channels).png().toBuffer();
      const told = Buffer.concat([texts.reduce(withPngChunk, png), Buffer.from(secret)]);
      const stripped = stripPlainPng(told);
      expect(stripped?.includes(secret)).toBe(false);
      expect((await pixels(stripped ?? Buffer.alloc(0))).equals(await pixels(told))).toBe(true);
    },
  );

  const rows = (bytesPerRow: number) => deflateSync(Buffer.alloc((bytesPerRow + 1) * 8));
  const withHeader = (change: Readonly<Record<number, number>>, pixelData = rows(24)) => {
    const header = pngHeader(8, 8).subarray(8, 21);
    for (const [at, value] of Object.entries(change)) header[Number(at)] = value;
    return pngFile(pngChunk("IHDR", header), pngChunk("IDAT", pixelData));
  };
  const damaged = (png: Buffer, at: number) => Buffer.from(png).fill((png[at] ?? 0) ^ 1, at, at + 1);
  const plain = withHeader({});
  const others: Record<string, () => Buffer | Promise<Buffer>> = {
    "16 bits": () => withHeader({ 8: 16 }, rows(48)),
    grey: () => withHeader({ 9: 0 }, rows(8)),
    "a palette": () => noise(3).png({ palette: true }).toBuffer(),
    "an interlaced one": () => noise(3).png({ progressive: true }).toBuffer(),
    "a colour profile": () => noise(3).withIccProfile("p3").png().toBuffer(),
    ...Object.fromEntries(
      ["tRNS", "gAMA", "cHRM", "sBIT", "cICP", "acTL", "fcTL", "fdAT", "PLTE", "NEWX"].map((type) => [
        `a chunk ${type}`,
        () => withPngChunk(plain, pngChunk(type, Buffer.alloc(8))),
      ]),
    ),
    "pixel data that is not compressed": () => noise(3).png({ compressionLevel: 0 }).toBuffer(),
    "two headers": () => withPngChunk(plain, pngHeader(8, 8)),
    "no pixel data": () => pngFile(pngHeader(8, 8)),
    "a missing end": () => plain.subarray(0, plain.length - 12),
    "a cut chunk": () => plain.subarray(0, plain.length - 20),
    "a damaged header": () => damaged(plain, 17),
    "damaged pixel data": () => damaged(plain, plain.length - 20),
    "thousands of chunks": () =>
      texts
        .slice(0, 1)
        .reduce((png, text) => withPngChunk(png, Buffer.concat(Array<Buffer>(20_001).fill(text))), plain),
    "a JPEG": () => noise(3).jpeg().toBuffer(),
    "an empty file": () => Buffer.alloc(0),
  };

  test.each(Object.keys(others))("but not %s", async (name) => {
    expect(stripPlainPng(plain)).toEqual(plain);
    expect(stripPlainPng((await others[name]?.()) ?? plain)).toBeNull();
  });
});

test("A5 a file that is no picture fails as the engine's fault and leaves nothing", async () => {
  const broken = (await readSample("coffee.png")).subarray(0, 30_000);
  await expect(storeOutput(opened.services, await output(broken))).rejects.toMatchObject({
    code: "engine_failed",
  });
  expect(await listObjects(opened.services)).toEqual([]);
});

test("A5 a discarded result is gone with its folders, and discarding it twice is no error", async () => {
  const input = await output(await readSample("chelsea.png"));
  const { storageKey } = await storeOutput(opened.services, input);
  await discardOutput(opened.services, storageKey);
  await discardOutput(opened.services, storageKey);
  expect(await listObjects(opened.services)).toEqual([]);
  const folder = path.join(opened.services.env.ATELIER_DATA_DIR, "files/jobs", input.jobId);
  await expect(access(folder)).rejects.toMatchObject({ code: "ENOENT" });
});

test("of the large pictures one is decoded at a time, results too, and small ones pass them", async () => {
  const large = await sharp({ create: { width: 7_000, height: 3_000, channels: 3, background: "red" } })
    .png()
    .toBuffer();
  const held = Promise.withResolvers<void>();
  const other = withFilePermit({ ownerId: "other", weight: "heavy" }, () => held.promise);
  const largeInput = await output(large);
  const storing = storeOutput(opened.services, largeInput);
  for (let round = 0; round < 20; round += 1)
    await storeOutput(opened.services, await output(await readSample("chelsea.png")));
  expect((await listObjects(opened.services)).filter((key) => key.includes(largeInput.jobId))).toEqual([]);
  held.resolve();
  await Promise.all([other, storing]);
  expect((await listObjects(opened.services)).filter((key) => key.includes(largeInput.jobId))).toHaveLength(
    3,
  );
});

const { signal } = new AbortController();

test("an original can be copied to a local file, and a missing one is named so", async () => {
  const stored = await storeOutput(opened.services, await output(await readSample("chelsea.png")));
  const target = path.join(opened.services.env.ATELIER_DATA_DIR, "copy.png");
  await readOriginalTo(opened.services, stored, { path: target, signal });
  expect(sha256(await sharp(target).toBuffer())).toBe(
    sha256(await sharp(await read(`${stored.storageKey}/original.png`)).toBuffer()),
  );
  await discardOutput(opened.services, stored.storageKey);
  await expect(readOriginalTo(opened.services, stored, { path: target, signal })).rejects.toMatchObject({
    code: "input_missing",
  });
});

test("R5 an original that was cut short is not given to an engine", async () => {
  const stored = await storeOutput(opened.services, await output(await readSample("chelsea.png")));
  const file = path.join(opened.services.env.ATELIER_DATA_DIR, "files", stored.storageKey, "original.png");
  await truncate(file, 1_000);
  const target = path.join(opened.services.env.ATELIER_DATA_DIR, "cut.png");
  await expect(readOriginalTo(opened.services, stored, { path: target, signal })).rejects.toMatchObject({
    code: "input_missing",
  });
  await expect(access(target)).rejects.toMatchObject({ code: "ENOENT" });
});

test("S3 files of people are for their user alone, whatever the umask", async () => {
  const before = process.umask(0o022);
  try {
    const stored = await storeOutput(opened.services, await output(await readSample("chelsea.png")));
    const files = path.join(opened.services.env.ATELIER_DATA_DIR, "files");
    const folder = path.join(files, stored.storageKey);
    for (const name of await readdir(folder))
      expect((await stat(path.join(folder, name))).mode & 0o777).toBe(0o600);
    for (let at = folder; at !== path.dirname(files); at = path.dirname(at))
      expect((await stat(at)).mode & 0o777).toBe(0o700);
  } finally {
    process.umask(before);
  }
});

test("R5 a stored file is never seen in part under its own name", async () => {
  const { services } = opened;
  const bytes = Buffer.alloc(64 * 1_048_576, 1);
  const key = `jobs/${newId()}/1/0/original.png`;
  const file = path.join(services.env.ATELIER_DATA_DIR, "files", key);
  let isDone = false;
  const putting = putAll(services.disk, [{ key, bytes, mime: "image/png" }]).finally(() => {
    isDone = true;
  });
  const sizes = new Set<number>();
  while (!isDone) {
    const found = await stat(file).catch(() => null);
    if (found) sizes.add(found.size);
  }
  await putting;
  expect((await stat(file)).size).toBe(bytes.length);
  expect([...sizes].filter((size) => size !== bytes.length)).toEqual([]);
  expect(await readdir(path.dirname(file))).toEqual(["original.png"]);
});

test.each([
  ["16 bits", (picture: Sharp) => picture.toColourspace("rgb16")],
  ["a direction", (picture: Sharp) => picture.withMetadata({ orientation: 6 })],
])("a PNG with %s gets no watermark", async (_name, make) => {
  const picture = make(sharp(await readSample("chelsea.png")).removeAlpha());
  const task = {
    as: "output",
    mime: "image/png",
    xmp: provenanceXmp("edit"),
    maxPixels: 1e7,
    mark: 5,
  } as const;
  const sent = await picture.png().toBuffer();
  const { isMarked, original } = await encodeFiles(sent, task);
  expect(isMarked).toBe(false);
  expect((await sharp(original).metadata()).depth).toBe((await sharp(sent).metadata()).depth);
  const plain = await sharp(await readSample("chelsea.png"))
    .removeAlpha()
    .png()
    .toBuffer();
  expect((await encodeFiles(plain, task)).isMarked).toBe(true);
});
