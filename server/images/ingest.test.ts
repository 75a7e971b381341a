import { mkdir, rm, writeFile } from "node:fs/promises";
import path from "node:path";
import { eq, sql } from "drizzle-orm";
import sharp from "sharp";
import type { Sharp } from "sharp";
import { thumbHashToRGBA } from "thumbhash";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import {
  addGuest,
  addUser,
  cornersPicture,
  listObjects,
  pngChunk,
  readCorners,
  readFileOf,
  readRow,
  readSample,
  rowsOf,
  withJpegSegment,
  withPngChunk,
} from "@atelier/testing/pictures";
import { createTestServices, type TestServices } from "@atelier/testing/services";
import { inAll } from "@atelier/testing/cases";
import { schema } from "../db/index.ts";
import {
  announcedSchema,
  beginUpload,
  ingest,
  type IngestedImage,
  listImages,
  readUsage,
  removeImages,
  restoreImages,
  type Variant,
} from "./index.ts";
import { lockUploadsOf } from "./quota.ts";

let opened: TestServices;
afterAll(() => opened.close());

describe("ingest metadata", () => {
  let ownerId: string;

  beforeAll(async () => {
    opened = await createTestServices();
    ownerId = await addUser(opened.services);
  });

  const upload = (bytes: Buffer, name?: string) =>
    ingest(opened.services, { ownerId, role: "upload", bytes, name });

  const readFile = ({ id }: IngestedImage, variant: Variant) => readFileOf(opened.services, id, variant);

  const secret = "PLANTED-CANARY-0451";
  const exif = {
    IFD0: { Copyright: secret, Make: secret },
    IFD3: {
      GPSLatitudeRef: "N",
      GPSLatitude: "52/1 31/1 0/1",
      GPSLongitudeRef: "E",
      GPSLongitude: "13/1 24/1 0/1",
    },
  };
  const xmp = `<x:xmpmeta xmlns:x="adobe:ns:meta/"><rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"><rdf:Description rdf:about="" xmlns:dc="http://purl.org/dc/elements/1.1/" dc:source="${secret}"/></rdf:RDF></x:xmpmeta>`;

  test.each([
    [
      "JPEG",
      async () => {
        const marked = await sharp(await readSample("rocket.jpg"))
          .withExif(exif)
          .withXmp(xmp)
          .withIccProfile("p3")
          .jpeg()
          .toBuffer();
        const iptc = Buffer.from(`Photoshop 3.0\0 8BIM ${secret}`);
        return withJpegSegment(withJpegSegment(marked, 0xfe, Buffer.from(secret)), 0xed, iptc);
      },
    ],
    [
      "PNG",
      async () => {
        const marked = await sharp(await readSample("coffee.png"))
          .withExif(exif)
          .withXmp(xmp)
          .withIccProfile("p3")
          .png()
          .toBuffer();
        return withPngChunk(marked, pngChunk("tEXt", Buffer.from(`Comment\0${secret}`)));
      },
    ],
    [
      "WebP",
      async () =>
        sharp(await readSample("coffee.png"))
          .withExif(exif)
          .withXmp(xmp)
          .withIccProfile("p3")
          .webp()
          .toBuffer(),
    ],
    [
      "AVIF",
      async () =>
        sharp(await readSample("chelsea.png"))
          .withExif(exif)
          .withXmp(xmp)
          .avif({ effort: 0 })
          .toBuffer(),
    ],
  ])("S3 nothing of the metadata of a %s survives in any file", async (_format, make) => {
    const bytes = await make();
    expect(bytes.includes(secret)).toBe(true);
    const image = await upload(bytes);
    for (const variant of ["original", "preview", "thumbnail"] as const) {
      const file = await readFile(image, variant);
      const metadata = await sharp(file).metadata();
      expect(metadata).not.toHaveProperty("exif");
      expect(metadata).not.toHaveProperty("xmp");
      expect(metadata).not.toHaveProperty("iptc");
      expect(metadata).not.toHaveProperty("icc");
      expect(metadata.comments ?? []).toEqual([]);
      expect(file.includes(secret)).toBe(false);
    }
  });

  test("S3 the thumbnail inside a JPEG's EXIF does not survive", async () => {
    const inner = await sharp({ create: { width: 16, height: 16, channels: 3, background: "red" } })
      .jpeg()
      .toBuffer();
    const payload = Buffer.concat([Buffer.from("Exif\0\0II*\0\x08\0\0\0\0\0\0\0\0\0", "latin1"), inner]);
    const image = await upload(withJpegSegment(await readSample("garment_tee.jpg"), 0xe1, payload));
    const original = await readFile(image, "original");
    expect(original.lastIndexOf(Buffer.from([0xff, 0xd8, 0xff]))).toBe(0);
  });
});

describe("ingest pixels", () => {
  let ownerId: string;

  beforeAll(async () => {
    opened = await createTestServices();
    ownerId = await addUser(opened.services);
  });

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

  test("an AVIF with a side that WebP cannot hold is stored as PNG", inAll, async () => {
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
    expect(await sharp(original).metadata()).toMatchObject({
      space: "srgb",
      depth: "uchar",
      mediaType: mime,
    });
    const means = async (file: Buffer) =>
      (await sharp(await sharp(file).toColourspace("srgb").png().toBuffer()).stats()).channels.map(
        (each) => each.mean,
      );
    const [expected, stored] = [await means(bytes), await means(original)];
    for (const [at, mean] of stored.entries())
      expect(Math.abs(mean - (expected[at] ?? -99))).toBeLessThan(2.5);
  });

  test("a lossless WebP stays lossless", inAll, async () => {
    const bytes = await sharp(await readSample("chelsea.png"))
      .webp({ lossless: true })
      .toBuffer();
    const original = await readFile(await upload(bytes), "original");
    expect((await sharp(original).raw().toBuffer()).equals(await sharp(bytes).raw().toBuffer())).toBe(true);
  });
});

describe("ingest races", () => {
  beforeAll(async () => {
    opened = await createTestServices({ config: { limits: { guestImages: 3, bytesPerUser: 6_000_000 } } });
  });

  test("A5 20 simultaneous uploads of the same bytes end with one row and three objects", async () => {
    const owner = await addUser(opened.services);
    const other = await opened.openAnother();
    const bytes = await readSample("rocket.jpg");
    const racers = Array.from({ length: 20 }, (_, at) =>
      ingest(at % 2 ? other : opened.services, { ownerId: owner, role: "upload", bytes }),
    );
    const images = await Promise.all(racers);
    expect(new Set(images.map(({ id }) => id)).size).toBe(1);
    expect(images.filter(({ created }) => created)).toHaveLength(1);
    expect(await rowsOf(opened.services, owner)).toHaveLength(1);
    const objects = (await listObjects(opened.services)).filter((key) => key.startsWith(`users/${owner}/`));
    expect(objects).toHaveLength(3);
    expect(objects[0]).toContain(images[0]?.id);
  });

  test("the same bytes of another owner, or in another role, are a picture of their own", async () => {
    const [first, second] = [await addUser(opened.services), await addUser(opened.services)];
    const bytes = await readSample("chelsea.png");
    const taken = [
      await ingest(opened.services, { ownerId: first, role: "upload", bytes }),
      await ingest(opened.services, { ownerId: second, role: "upload", bytes }),
      await ingest(opened.services, { ownerId: first, role: "mask", bytes }),
    ];
    expect(new Set(taken.map(({ id }) => id)).size).toBe(3);
  });

  test("a guest keeps at most the configured number, also when uploads race, and may send known bytes again", async () => {
    const guest = await addGuest(opened.services);
    const picture = (width: number) =>
      sharp({ create: { width, height: 9, channels: 3, background: "red" } })
        .png()
        .toBuffer();
    const send = async (width: number) =>
      ingest(opened.services, { ownerId: guest, role: "upload", bytes: await picture(width) });
    const results = await Promise.allSettled([10, 11, 12, 13, 14, 15, 16, 17].map(send));
    const refused = results.filter((result) => result.status === "rejected").map((result) => result.reason);
    expect(refused).toHaveLength(5);
    for (const error of refused)
      expect(error).toMatchObject({
        code: "quota_exceeded",
        message: expect.stringContaining("Guests can keep 3 pictures"),
      });
    const kept = await rowsOf(opened.services, guest);
    expect(kept).toHaveLength(3);
    expect(
      (await listObjects(opened.services)).filter((key) => key.startsWith(`users/${guest}/`)),
    ).toHaveLength(9);
    expect(await send(kept[0]?.widthPx ?? 0)).toMatchObject({ created: false });
  });

  test("A5 a row that cannot be inserted takes its objects along", async () => {
    const before = await listObjects(opened.services);
    const nobody = { ownerId: "nobody", role: "upload", bytes: await readSample("coffee.png") } as const;
    await expect(ingest(opened.services, nobody)).rejects.toMatchObject({ cause: { code: "23503" } });
    expect(await listObjects(opened.services)).toEqual(before);
  });

  test("A5 a store that cannot be written leaves no row", async () => {
    const owner = await addUser(opened.services);
    const blocked = path.join(opened.services.env.ATELIER_DATA_DIR, "files/users", owner);
    await mkdir(path.dirname(blocked), { recursive: true });
    await writeFile(blocked, "a file where a folder must be");
    const bytes = await readSample("coffee.png");
    await expect(ingest(opened.services, { ownerId: owner, role: "upload", bytes })).rejects.toMatchObject({
      code: "storage_unavailable",
    });
    expect(await rowsOf(opened.services, owner)).toEqual([]);
    await rm(blocked);
    expect(await ingest(opened.services, { ownerId: owner, role: "upload", bytes })).toMatchObject({
      created: true,
    });
  });

  test("A5 an aborted upload leaves nothing", async () => {
    const owner = await addUser(opened.services);
    const bytes = await readSample("astronaut.png");
    const aborting = new AbortController();
    const taken = ingest(opened.services, { ownerId: owner, role: "upload", bytes, signal: aborting.signal });
    aborting.abort();
    await expect(taken).rejects.toMatchObject({ name: "AbortError" });
    expect(await rowsOf(opened.services, owner)).toEqual([]);
    expect((await listObjects(opened.services)).filter((key) => key.includes(owner))).toEqual([]);
  });

  const small = (width: number) =>
    sharp({ create: { width, height: 10, channels: 3, background: "blue" } })
      .png()
      .toBuffer();

  test("a guest cannot get past the limit by deleting, uploading and restoring", async () => {
    const { services } = opened;
    const guest = await addGuest(services);
    const send = async (width: number) =>
      ingest(services, { ownerId: guest, role: "upload", bytes: await small(width) });
    const first = await Promise.all([31, 32, 33].map(send));
    const ids = first.map(({ id }) => id);
    await removeImages(services, { ownerId: guest, ids });
    await expect(send(34)).rejects.toMatchObject({ code: "quota_exceeded" });
    expect((await restoreImages(services, { ownerId: guest, ids })).toSorted()).toEqual(ids.toSorted());
  });

  test("a guest restores nothing when that would be too many, and uploads of the moment are counted", async () => {
    const { services } = opened;
    const { limits } = services.config;
    const guest = await addGuest(services);
    const send = async (width: number) =>
      ingest(services, { ownerId: guest, role: "upload", bytes: await small(width) });
    const ids = (await Promise.all([41, 42, 43].map(send))).map(({ id }) => id);
    await removeImages(services, { ownerId: guest, ids });
    limits.guestImages = 2;
    try {
      await expect(restoreImages(services, { ownerId: guest, ids })).rejects.toMatchObject({
        code: "quota_exceeded",
      });
    } finally {
      limits.guestImages = 3;
    }
    expect((await rowsOf(services, guest)).filter(({ deletedAt }) => deletedAt === null)).toEqual([]);
  });

  test("all guests together have a total of bytes, which no account is refused for", inAll, async () => {
    const bytesOfGuests = 120_000;
    const studio = await createTestServices({ config: { limits: { bytesOfGuests } } });
    const { services } = studio;
    const [bytes, others] = [await readSample("rocket.jpg"), await readSample("astronaut.png")];
    const upload = (ownerId: string, file = others) =>
      ingest(services, { ownerId, role: "upload", bytes: file });
    try {
      const [first, second] = [await addGuest(services), await addGuest(services)];
      const { id } = await upload(first, bytes);
      const own = eq(schema.images.id, id);
      await services.db.update(schema.images).set({ sizeBytes: bytesOfGuests }).where(own);
      vi.spyOn(performance, "now").mockReturnValue(performance.now() + 10_000);
      const announced = announcedSchema.parse({ mime: "image/png", sizeBytes: others.length });
      const refused = { code: "storage_quota", message: /all guests/ };
      for (const ownerId of [first, second]) {
        await expect(upload(ownerId)).rejects.toMatchObject(refused);
        const mask = ingest(services, { ownerId, role: "mask", bytes: others });
        await expect(mask).rejects.toMatchObject(refused);
        await expect(beginUpload(services, { ownerId, announced })).rejects.toMatchObject(refused);
      }
      await upload(await addUser(services));
      await services.db.delete(schema.images).where(own);
      vi.spyOn(performance, "now").mockReturnValue(performance.now() + 20_000);
      await upload(second, bytes);
    } finally {
      vi.restoreAllMocks();
      await studio.close();
    }
  });

  test("the pictures of an account take up at most the configured bytes, deleted ones included", async () => {
    const { services } = opened;
    const owner = await addUser(services);
    const bytes = await readSample("astronaut.png");
    const { id } = await ingest(services, { ownerId: owner, role: "upload", bytes });
    const { usedBytes, limitBytes } = await readUsage(services, owner);
    expect(limitBytes).toBe(6_000_000);
    expect(usedBytes).toBe((await rowsOf(services, owner))[0]?.sizeBytes);
    await removeImages(services, { ownerId: owner, ids: [id] });
    expect(await readUsage(services, owner)).toEqual({ usedBytes, limitBytes });
    services.config.limits.bytesPerUser = usedBytes + 1_000;
    try {
      const objects = await listObjects(services);
      const next = ingest(services, {
        ownerId: owner,
        role: "upload",
        bytes: await readSample("coffee.png"),
      });
      await expect(next).rejects.toMatchObject({
        code: "storage_quota",
        details: { usedBytes, limitBytes: usedBytes + 1_000 },
      });
      expect(await listObjects(services)).toEqual(objects);
    } finally {
      services.config.limits.bytesPerUser = 6_000_000;
    }
  });

  test("uploads and restores of one owner that wait for a lock leave the connections to others", async () => {
    const { services } = opened;
    const other = await opened.openAnother();
    const owner = await addUser(services);
    const send = async (width: number) =>
      ingest(services, { ownerId: owner, role: "upload", bytes: await small(width) });
    const { id } = await send(51);
    await removeImages(services, { ownerId: owner, ids: [id] });
    const held = Promise.withResolvers<void>();
    const locked = Promise.withResolvers<void>();
    const holding = other.db.transaction(async (tx) => {
      await lockUploadsOf(tx, owner);
      locked.resolve();
      await held.promise;
    });
    await locked.promise;
    const restores = Array.from({ length: 20 }, () => restoreImages(services, { ownerId: owner, ids: [id] }));
    const uploads = [52, 53].map(send);
    await vi.waitFor(async () => {
      const rows = await other.db.execute<{ waiting: number }>(sql`
      select count(*)::int as waiting from pg_locks l join pg_stat_activity a using (pid)
      where l.locktype = 'advisory' and not l.granted and a.datname = current_database()`);
      expect(rows[0]?.waiting).toBeGreaterThan(0);
    });
    // Without turns each of them holds one of the ten connections, and this finds none.
    const answers = Array.from({ length: 9 }, () => services.db.execute(sql`select 1`));
    await Promise.all(answers);
    held.resolve();
    await holding;
    expect((await Promise.all(restores)).flat()).toEqual([id]);
    await Promise.all(uploads);
  });
});

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

describe("ingest", () => {
  let ownerId: string;

  beforeAll(async () => {
    opened = await createTestServices();
    ownerId = await addUser(opened.services);
  });

  const upload = (bytes: Buffer, name?: string) =>
    ingest(opened.services, { ownerId, role: "upload", bytes, name });

  const readFile = ({ id }: IngestedImage, variant: Variant) => readFileOf(opened.services, id, variant);

  test.each([
    ["png", 4],
    ["png", 2],
    ["webp", 4],
    ["avif", 4],
    ["tiff", 4],
  ] as const)("what a %s of %i channels hides below its alpha is not stored", async (format, channels) => {
    const data = Buffer.alloc(60 * 40 * channels);
    for (let at = 0; at < 60 * 40; at += 1) {
      const alpha = at % 60 < 30 ? 0 : at % 60 < 40 ? 1 : 255;
      const [hidden, seen] =
        channels === 4
          ? [
              [255, 0, 255],
              [0, 120, 0],
            ]
          : [[128], [20]];
      data.set([...(alpha === 0 ? hidden : seen), alpha], at * channels);
    }
    const file = sharp(data, { raw: { width: 60, height: 40, channels } });
    const options = { lossless: true, exact: true, compression: format === "avif" ? "av1" : "lzw" };
    const image = await upload(await file.toFormat(format, options).toBuffer());
    for (const variant of ["original", "preview"] as const) {
      const stored = sharp(await readFile(image, variant));
      const { data: rgba } = await stored
        .ensureAlpha()
        .toColourspace("srgb")
        .raw()
        .toBuffer({ resolveWithObject: true });
      const hidden: number[][] = [];
      for (let at = 0; at < rgba.length; at += 4)
        if (rgba[at + 3] === 0) hidden.push([...rgba.subarray(at, at + 3)]);
      // Lossy files mix neighbours, but no pixel is near to the colour that was hidden.
      const far = channels === 4 ? [255, 0, 255] : [128, 128, 128];
      const nearest = hidden.map((pixel) => Math.max(...pixel.map((v, i) => Math.abs(v - (far[i] ?? 0)))));
      expect(Math.min(...nearest)).toBeGreaterThan(60);
      expect(hidden.length).toBeGreaterThan(0);
    }
  });

  test("A5 an upload becomes one row and three files under its owner's key", async () => {
    const image = await upload(await readSample("garment_dress.jpg"), "My dress.jpg");
    expect(image).toMatchObject({
      created: true,
      role: "upload",
      mime: "image/jpeg",
      widthPx: 768,
      heightPx: 1024,
    });
    expect(image).toMatchObject({ title: "My dress", starred: false, jobId: null, kind: null });
    const prefix = `users/${ownerId}/${image.id}`;
    expect((await listObjects(opened.services)).filter((key) => key.startsWith(prefix))).toEqual([
      `${prefix}/original.jpg`,
      `${prefix}/preview.webp`,
      `${prefix}/thumbnail.webp`,
    ]);
    const original = await readFile(image, "original");
    expect(image.sizeBytes).toBe(original.length);
    expect(await sharp(original).metadata()).toMatchObject({ format: "jpeg", chromaSubsampling: "4:4:4" });
    expect(await sharp(await readFile(image, "preview")).metadata()).toMatchObject({
      width: 768,
      height: 1024,
    });
    expect(await sharp(await readFile(image, "thumbnail")).metadata()).toMatchObject({
      width: 240,
      height: 320,
    });
  });

  test("previews and thumbnails are bounded, and small pictures are never enlarged", async () => {
    const large = await upload(await cornersPicture(3_000, 1_500).png().toBuffer());
    expect(await sharp(await readFile(large, "original")).metadata()).toMatchObject({
      width: 3_000,
      height: 1_500,
    });
    expect(await sharp(await readFile(large, "preview")).metadata()).toMatchObject({
      width: 1_280,
      height: 640,
    });
    expect(await sharp(await readFile(large, "thumbnail")).metadata()).toMatchObject({
      width: 320,
      height: 160,
    });
    const small = await upload(await cornersPicture(40, 20).png().toBuffer());
    for (const variant of ["original", "preview", "thumbnail"] as const)
      expect(await sharp(await readFile(small, variant)).metadata()).toMatchObject({ width: 40, height: 20 });
  });

  test("content decides, not the name", async () => {
    const image = await upload(
      await sharp(await readSample("coffee.png"))
        .resize(77)
        .png()
        .toBuffer(),
      "photo.jpg",
    );
    expect(image).toMatchObject({ mime: "image/png", title: "photo" });
  });

  test("pictures of cameras with harmless trailing bytes are taken", async () => {
    const trailer = Buffer.concat([Buffer.from("SEFH"), Buffer.alloc(500, 3), Buffer.from("SEFT")]);
    const image = await upload(Buffer.concat([await readSample("garment_hoodie.jpg"), trailer]));
    expect((await readFile(image, "original")).includes("SEFT")).toBe(false);
  });

  test.each([
    ["../../etc/passwd.png", "passwd"],
    ["C:\\Users\\me\\holiday.jpeg", "holiday"],
    ["nul\0byte.png", "nulbyte"],
    ["\u202Egnp.exe\u202C.png", "gnp.exe"],
    ["..", ""],
    ["line\nbreak\r\n.webp", "linebreak"],
    ["\uD800 lone.png", "\uFFFD lone"],
    [`${"x".repeat(4_096)}.png`, "x".repeat(120)],
  ])("a file named %j is stored under its id and titled %j", async (name, title) => {
    const bytes = await sharp({ create: { width: 8, height: 8, channels: 3, background: "red" } })
      .png()
      .toBuffer();
    const owner = await addUser(opened.services);
    const image = await ingest(opened.services, { ownerId: owner, role: "upload", bytes, name });
    expect(image.title).toBe(title);
    expect((await readRow(opened.services, image.id)).storageKey).toBe(`users/${owner}/${image.id}`);
  });
});
