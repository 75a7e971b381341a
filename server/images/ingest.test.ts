import {
  addUser,
  cornersPicture,
  listObjects,
  readFileOf,
  readRow,
  readSample,
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
