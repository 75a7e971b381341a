import { truncate } from "node:fs/promises";
import path from "node:path";
import { buffer, text } from "node:stream/consumers";
import pino from "pino";
import sharp, { type Sharp } from "sharp";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { addUser, listObjects, readRow, readSample } from "@atelier/testing/pictures";
import { createTestServices, type TestServices } from "@atelier/testing/services";
import { newId } from "../platform/index.ts";
import { putAll } from "../storage/index.ts";
import { ingest, objectKey, openFile, readOriginalTo, removeImages, changeImage, variants } from "./index.ts";

let opened: TestServices;
let ownerId: string;
let id: string;
const lines: string[] = [];

beforeAll(async () => {
  const log = pino({ level: "warn" }, { write: (line: string) => lines.push(line) });
  opened = await createTestServices({ log });
  ownerId = await addUser(opened.services);
  id = (await ingest(opened.services, { ownerId, role: "upload", bytes: await readSample("rocket.jpg") })).id;
});
afterAll(() => opened.close());

test.each([
  ["original", "image/jpeg"],
  ["preview", "image/webp"],
  ["thumbnail", "image/webp"],
] as const)("S3 the %s is served as %s with headers that keep it a picture", async (variant, type) => {
  const { headers, body } = await openFile(opened.services, { ownerId, id, variant });
  expect(headers).toMatchObject({
    "content-type": type,
    "x-content-type-options": "nosniff",
    "content-security-policy": "sandbox; default-src 'none'",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "private, no-cache",
  });
  expect(headers["content-disposition"]).toMatch(/^inline; /);
  const bytes = body ? await buffer(body) : Buffer.alloc(0);
  expect(headers["content-length"]).toBe(String(bytes.length));
  expect(bytes.length).toBeGreaterThan(1_000);
});

test("what an older picture hides below its alpha goes neither to an engine nor to a provider", async () => {
  const { services } = opened;
  const image = await ingest(services, { ownerId, role: "upload", bytes: await readSample("coffee.png") });
  const row = await readRow(services, image.id);
  const background = { r: 255, g: 0, b: 255, alpha: 0 };
  const hidden = await sharp({ create: { width: 32, height: 32, channels: 4, background } })
    .png()
    .toBuffer();
  const key = objectKey(row, "original");
  await putAll(services.disk, [{ key, bytes: hidden, mime: "image/png" }]);
  const file = path.join(services.env.ATELIER_DATA_DIR, "copied");
  const { signal } = new AbortController();
  const copy = () => readOriginalTo(services, { ...row, sizeBytes: hidden.length }, { path: file, signal });
  const said = new Error("Input file has corrupt header: vips_tracked: out of memory -- size == 244MB");
  const prototype = Object.getPrototypeOf(sharp(hidden)) as Sharp;
  const spy = vi.spyOn(prototype, "metadata").mockRejectedValue(said);
  await expect(copy().finally(() => spy.mockRestore())).rejects.toMatchObject({ code: "out_of_memory" });
  await copy();
  expect([...(await sharp(file).raw().toBuffer()).subarray(0, 4)]).toEqual([255, 255, 255, 0]);
});

test("a picture with transparency whose pixels are damaged is told as damaged, not as a store that is away", async () => {
  const { services } = opened;
  const noise = { type: "gaussian", mean: 128, sigma: 40 } as const;
  const made = { width: 64, height: 64, channels: 4, background: "#0000", noise } as const;
  const whole = await sharp({ create: made }).png().toBuffer();
  const damaged = Buffer.from(whole);
  const middle = Math.floor(whole.length / 2);
  damaged.fill(0, middle, middle + 400);
  const image = await ingest(services, { ownerId, role: "upload", bytes: whole });
  const row = await readRow(services, image.id);
  await putAll(services.disk, [{ key: objectKey(row, "original"), bytes: damaged, mime: "image/png" }]);
  const file = path.join(services.env.ATELIER_DATA_DIR, "damaged");
  const { signal } = new AbortController();
  const stored = { ...row, sizeBytes: damaged.length };
  await expect(readOriginalTo(services, stored, { path: file, signal })).rejects.toMatchObject({
    code: "upload_unreadable",
  });
});

test("a copy that is still right is not sent again", async () => {
  const etags = new Set<string>();
  for (const variant of variants) {
    const { headers } = await openFile(opened.services, { ownerId, id, variant, isHead: true });
    const etag = headers.etag ?? "";
    expect(etag).toMatch(/^"[0-9a-f]{32}-\w+"$/);
    etags.add(etag);
    for (const ifNoneMatch of [etag, `W/${etag}`, `"other", ${etag}`, "*"])
      expect(await openFile(opened.services, { ownerId, id, variant, ifNoneMatch })).toMatchObject({
        isCurrent: true,
        body: null,
      });
    const other = await openFile(opened.services, { ownerId, id, variant, ifNoneMatch: '"other"' });
    expect(other.isCurrent).toBe(false);
    other.body?.destroy();
  }
  expect(etags.size).toBe(3);
});

test.each([
  [
    "Sommer – Kleid",
    `attachment; filename="Sommer _ Kleid.jpg"; filename*=UTF-8''Sommer%20%E2%80%93%20Kleid.jpg`,
  ],
  [`a"b\\c/../d`, `attachment; filename="abc..d.jpg"; filename*=UTF-8''abc..d.jpg`],
  [
    "x\r\nSet-Cookie: a=b",
    `attachment; filename="xSet-Cookie a=b.jpg"; filename*=UTF-8''xSet-Cookie%20a%3Db.jpg`,
  ],
  ["con", `attachment; filename="_con.jpg"; filename*=UTF-8''_con.jpg`],
  ["LPT1 .old", `attachment; filename="_LPT1 .old.jpg"; filename*=UTF-8''_LPT1%20.old.jpg`],
  ["console", `attachment; filename="console.jpg"; filename*=UTF-8''console.jpg`],
  ["..", (name: string) => `attachment; filename="${name}.jpg"; filename*=UTF-8''${name}.jpg`],
])("a picture titled %j is saved under a safe name", async (title, expected) => {
  await changeImage(opened.services, { ownerId, id, title });
  const { headers } = await openFile(opened.services, {
    ownerId,
    id,
    variant: "original",
    download: true,
    isHead: true,
  });
  expect(headers["content-disposition"]).toBe(
    typeof expected === "string" ? expected : expected(`atelier-${id}`),
  );
});

test("S1 another's, a deleted and an unknown picture are not found", async () => {
  const { services } = opened;
  const gone = await ingest(services, { ownerId, role: "upload", bytes: await readSample("coffee.png") });
  await removeImages(services, { ownerId, ids: [gone.id] });
  const stranger = await addUser(services);
  const tries = [
    { ownerId: stranger, id },
    { ownerId, id: gone.id },
    { ownerId, id: newId() },
    { ownerId, id: "../../etc/passwd" },
  ];
  for (const own of tries)
    await expect(openFile(services, { ...own, variant: "original" })).rejects.toMatchObject({
      code: "not_found",
    });
  const etag = (await openFile(services, { ownerId, id, variant: "original", isHead: true })).headers.etag;
  const knowing = { ownerId: stranger, id, variant: "original", ifNoneMatch: etag } as const;
  await expect(openFile(services, knowing)).rejects.toMatchObject({ code: "not_found" });
});

test("A7 a row whose object is missing has a code of its own, and the log says so", async () => {
  const { services } = opened;
  const image = await ingest(services, { ownerId, role: "upload", bytes: await readSample("chelsea.png") });
  for (const key of await listObjects(services))
    if (key.includes(`${image.id}/preview`)) await services.disk.delete(key);
  lines.length = 0;
  const missing = openFile(services, { ownerId, id: image.id, variant: "preview" });
  await expect(missing).rejects.toMatchObject({ code: "file_missing" });
  expect(lines.join("")).toContain(image.id);
  const { body } = await openFile(services, { ownerId, id: image.id, variant: "thumbnail" });
  expect(body && (await text(body)).length).toBeGreaterThan(100);
});

test.each([
  ["original", "shorter than its row says", 5_000],
  ["original", "empty", 0],
  ["preview", "empty", 0],
] as const)(
  "R5 a file of the %s that is %s is not sent, and the log says so",
  async (variant, _how, size) => {
    const { services } = opened;
    const bytes = await readSample(variant === "preview" ? "rocket.jpg" : "chelsea.png");
    const owner = await addUser(services);
    const image = await ingest(services, { ownerId: owner, role: "upload", bytes });
    const keys = (await listObjects(services)).filter((key) => key.includes(`${image.id}/${variant}`));
    for (const key of keys) await truncate(path.join(services.env.ATELIER_DATA_DIR, "files", key), size);
    lines.length = 0;
    const opening = openFile(services, { ownerId: owner, id: image.id, variant });
    await expect(opening).rejects.toMatchObject({ code: "not_found" });
    expect(lines.join("")).toContain("damaged");
  },
);
