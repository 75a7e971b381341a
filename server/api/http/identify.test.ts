// @module-tag all
import { writeFile } from "node:fs/promises";
import path from "node:path";
import { grownBy, readSample, withTextBombs } from "@atelier/testing/pictures";
import { createTestServices, openOwner, type TestOwner, type TestServices } from "@atelier/testing/services";
import { eq } from "drizzle-orm";
import sharp from "sharp";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { schema } from "../../db/index.ts";
import { ingest, readAs, storeOutput } from "../../images/index.ts";
import { newId } from "../../platform/index.ts";
import { createHttpApp } from "../index.ts";

let fixture: TestServices;
let owner: TestOwner;
let stranger: TestOwner;
let imageId: string;
let bytes: Buffer;

beforeAll(async () => {
  fixture = await createTestServices();
  const { services } = fixture;
  owner = await openOwner(services, "owner@example.com");
  stranger = await openOwner(services, "stranger@example.com");
  ({ id: imageId, bytes } = await store());
});
afterAll(() => fixture.close());

async function store() {
  const { services } = fixture;
  const ownerId = owner.caller.userId;
  const file = path.join(services.env.ATELIER_DATA_DIR, newId());
  await writeFile(
    file,
    await sharp(await readSample("chelsea.png"))
      .resize(450)
      .png()
      .toBuffer(),
  );
  const made = await storeOutput(services, {
    ownerId,
    jobId: newId(),
    attempt: 1,
    kind: "text_to_image",
    position: 0,
    path: file,
    mime: "image/png",
  });
  await services.db.insert(schema.images).values({ ...made, ownerId, role: "result" });
  return { id: made.id, bytes: Buffer.from(await services.disk.getBytes(`${made.storageKey}/original.png`)) };
}

async function ask(asking: TestOwner, file: Buffer): Promise<unknown> {
  const body = new FormData();
  body.append("file", new Blob([new Uint8Array(file)]), "picture.png");
  const request = new Request("http://localhost/api/v1/identify", {
    method: "POST",
    body,
    headers: asking.browser.headers,
  });
  const response = await createHttpApp(fixture.services).fetch(request);
  expect(response.status).toBe(200);
  return response.json();
}

test("the owner of a picture is led to its record", async () => {
  expect(await ask(owner, bytes)).toMatchObject({
    isPicture: true,
    statement: {
      state: "valid",
      isOwnSigner: true,
      generator: expect.stringMatching(/^Atelier \d/),
      signer: expect.stringContaining("Atelier studio"),
      steps: [
        {
          action: "c2pa.created",
          digitalSourceType: expect.stringMatching(/trainedAlgorithmicMedia$/),
          at: expect.any(String),
        },
        { action: "c2pa.watermarked.unbound" },
      ],
    },
    isOurs: true,
    madeAt: expect.any(String),
    record: { imageId, isOwn: true },
  });
});

test.each(["jpeg", "webp"] as const)("so is one who has it as %s", async (format) => {
  const { services } = fixture;
  const copy = await readAs(services, { ownerId: owner.caller.userId, id: imageId }, format);
  expect(await ask(owner, copy)).toMatchObject({ isOurs: true, record: { imageId } });
});

test("another user learns only that it was made here, and when", async () => {
  expect(await ask(stranger, bytes)).toMatchObject({
    isOurs: true,
    madeAt: expect.any(String),
    record: null,
  });
});

test("a file that was changed since is told as such", async () => {
  const changed = Buffer.from(bytes);
  const at = changed.lastIndexOf("IDAT") + 100;
  changed.writeUInt8((changed[at] ?? 0) ^ 1, at);
  expect(await ask(owner, changed)).toMatchObject({
    statement: { state: "changed", isOwnSigner: true },
    isOurs: false,
    record: null,
  });
});

/** The statement of one PNG in another. */
function transplant(from: Buffer, to: Buffer): Buffer {
  const at = from.indexOf("caBX") - 4;
  const chunk = from.subarray(at, at + 12 + from.readUInt32BE(at));
  const behindHeader = 33;
  return Buffer.concat([to.subarray(0, behindHeader), chunk, to.subarray(behindHeader)]);
}

test("a statement in a file that it was not made for says nothing, unless the watermark agrees", async () => {
  const other = await readSample("chelsea.png");
  expect(await ask(owner, transplant(bytes, other))).toMatchObject({
    statement: { state: "changed", isOwnSigner: true },
    watermark: null,
    isOurs: false,
    madeAt: null,
    record: null,
  });
  const same = await sharp(bytes).png().toBuffer();
  expect(await ask(owner, transplant(bytes, same))).toMatchObject({
    statement: { state: "changed", isOwnSigner: true },
    watermark: { isOwn: true },
    isOurs: true,
    record: { imageId },
  });
});

async function upload(file: Buffer) {
  const { services } = fixture;
  const ownerId = owner.caller.userId;
  const { id } = await ingest(services, { ownerId, role: "upload", bytes: file, name: "picture" });
  return { id, stored: await readAs(services, { ownerId, id }, "jpeg") };
}

test("an upload that came from here is known by what it was made of", async () => {
  const { id, stored } = await upload(bytes);
  expect(await ask(owner, stored)).toMatchObject({
    statement: { state: "valid", isOwnSigner: true, steps: [{ action: "c2pa.opened" }, {}] },
    isOurs: true,
    madeAt: expect.any(String),
    record: { imageId: id },
  });
});

test.each([
  ["of another studio", () => foreignFile()],
  ["of another file", async () => transplant(bytes, await readSample("chelsea.png"))],
])("an upload with a statement %s was not made here", async (_name, sent) => {
  const { id, stored } = await upload(await sent());
  expect(await ask(owner, stored)).toMatchObject({
    statement: { state: "valid", isOwnSigner: true },
    isOurs: false,
    madeAt: null,
    record: { imageId: id },
  });
});

test("a statement whose words were changed is broken and proves nothing, the watermark does", async () => {
  const forged = Buffer.from(bytes);
  forged.write("trainedAlgorithmicMedib", forged.indexOf("trainedAlgorithmicMedia", forged.indexOf("caBX")));
  expect(await ask(owner, forged)).toMatchObject({
    statement: { state: "broken", isOwnSigner: false },
    watermark: { isOwn: true },
    isOurs: true,
    record: { imageId },
  });
});

test("a picture without its statement is known by its watermark, also smaller and cut", async () => {
  // A tenth of its width is gone.
  const cut = await sharp(bytes).extract({ left: 45, top: 0, width: 405, height: 299 }).png().toBuffer();
  for (const stripped of [
    await sharp(bytes).jpeg({ quality: 75 }).toBuffer(),
    await sharp(bytes).resize(225).png().toBuffer(),
    cut,
    await sharp(cut).resize(203).jpeg({ quality: 75 }).toBuffer(),
  ]) {
    const known = { statement: null, watermark: { isOwn: true }, isOurs: true, madeAt: expect.any(String) };
    expect(await ask(owner, stripped)).toMatchObject({ ...known, record: { imageId } });
    expect(await ask(stranger, stripped)).toMatchObject({ ...known, record: null });
  }
});

test("a picture that stands at the day of its photo was made when it was made", async () => {
  const { db } = fixture.services;
  const { images } = schema;
  const madeAt = new Date("2026-03-01T12:00:00Z");
  const photo = { createdAt: new Date("2009-05-01T12:00:00Z"), addedAt: madeAt };
  const [before] = await db.select().from(images).where(eq(images.id, imageId));
  await db.update(images).set(photo).where(eq(images.id, imageId));
  onTestFinished(async () => {
    const { createdAt, addedAt } = before ?? photo;
    await db.update(images).set({ createdAt, addedAt }).where(eq(images.id, imageId));
  });
  const stripped = await sharp(bytes).jpeg({ quality: 75 }).toBuffer();
  expect(await ask(owner, stripped)).toMatchObject({ isOurs: true, madeAt: madeAt.toISOString() });
});

async function foreignFile(): Promise<Buffer> {
  const other = await createTestServices();
  try {
    const file = path.join(other.services.env.ATELIER_DATA_DIR, newId());
    await writeFile(file, await readSample("chelsea.png"));
    const made = await storeOutput(other.services, {
      ownerId: "someone",
      jobId: newId(),
      attempt: 1,
      kind: "edit",
      position: 0,
      path: file,
      mime: "image/png",
    });
    return Buffer.from(await other.services.disk.getBytes(`${made.storageKey}/original.png`));
  } finally {
    await other.close();
  }
}

test("the statement of another studio is read, and is not ours", async () => {
  expect(await ask(owner, await foreignFile())).toMatchObject({
    statement: { state: "valid", isOwnSigner: false },
    isOurs: false,
    madeAt: null,
  });
});

test.each([
  ["without marks", () => readSample("chelsea.png")],
  ["that is empty", async () => Buffer.alloc(0)],
  ["that is no picture", async () => Buffer.from("%PDF-1.7 jumb")],
  ["cut in its statement", async () => bytes.subarray(0, bytes.indexOf("caBX") + 200)],
])("a file %s says nothing", async (_name, file) => {
  expect(await ask(owner, await file())).toMatchObject({ isOurs: false, record: null });
});

test("a file that no upload may be is not decoded", async () => {
  const drawn = Buffer.from(`<svg xmlns="http://www.w3.org/2000/svg" width="400" height="400"></svg>`);
  const long = await sharp({ create: { width: 20_000, height: 300, channels: 3, background: "#888" } })
    .png()
    .toBuffer();
  for (const file of [drawn, long])
    expect(await ask(owner, file)).toMatchObject({ isPicture: false, watermark: null, isOurs: false });
});

test("S6 texts that fill the memory are not inflated, and the pixels are looked at", async () => {
  const bombs = withTextBombs(bytes);
  expect(await grownBy(() => ask(owner, bombs))).toBeLessThan(200);
  expect(await ask(owner, bombs)).toMatchObject({ isPicture: true, watermark: { isOwn: true } });
});

test("a picture in the trash is no record", async () => {
  const { id, bytes: file } = await store();
  await fixture.services.db
    .update(schema.images)
    .set({ deletedAt: new Date() })
    .where(eq(schema.images.id, id));
  expect(await ask(owner, file)).toMatchObject({ isOurs: true, record: null });
});
