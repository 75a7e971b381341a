import sharp from "sharp";
import { thumbHashToRGBA } from "thumbhash";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import {
  addUser,
  cornersPicture,
  listObjects,
  pngChunk,
  readCorners,
  readFileOf,
  readRow,
  readSample,
  withJpegSegment,
  withPngChunk,
} from "@atelier/testing/pictures";
import { createTestServices, type TestServices } from "@atelier/testing/services";
import { inAll } from "@atelier/testing/cases";
import { changeImage, ingest, type IngestedImage, listImages, type Variant } from "./index.ts";

let opened: TestServices;
let ownerId: string;

beforeAll(async () => {
  opened = await createTestServices();
});
afterAll(() => opened.close());
beforeEach(async () => {
  ownerId = await addUser(opened.services);
});

const upload = (bytes: Buffer, name?: string) =>
  ingest(opened.services, { ownerId, role: "upload", bytes, name });

const readFile = ({ id }: IngestedImage, variant: Variant) => readFileOf(opened.services, id, variant);

describe("metadata", () => {
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

describe("pixels", () => {
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

describe("files", () => {
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

  test("an upload is described by its own words, which find it; sent again it keeps those of its owner", async () => {
    const { services } = opened;
    const words = { IFD0: { ImageDescription: "Fishing boats in Brest" } };
    const bytes = await sharp(await readSample("rocket.jpg"))
      .resize(40)
      .withExif(words)
      .jpeg()
      .toBuffer();
    const { id, description } = await upload(bytes, "IMG_0001.jpg");
    expect(description).toBe("Fishing boats in Brest");
    const found = async (search: string) =>
      (await listImages(services, { ownerId, search, limit: 9 })).items.map((image) => image.id);
    expect([await found("boats brest"), await found("img_0001"), await found("rocket")]).toEqual([
      [id],
      [id],
      [],
    ]);
    expect(await readRow(services, id)).toMatchObject({ describedBy: "file" });
    await changeImage(services, { ownerId, id, description: "Mine" });
    expect(await upload(bytes, "IMG_0001.jpg")).toMatchObject({ id, created: false, description: "Mine" });
    expect(await readRow(services, id)).toMatchObject({ describedBy: "owner", title: "IMG_0001" });
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
