import {
  addUser,
  pngChunk,
  readFileOf,
  readSample,
  withJpegSegment,
  withPngChunk,
} from "@atelier/testing/pictures";
import { createTestServices, type TestServices } from "@atelier/testing/services";
import sharp from "sharp";
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
