import { execFileSync } from "node:child_process";
import { listObjects, listTempFiles, readSample } from "@atelier/testing/pictures";
import {
  createTestServices,
  openOwner,
  testOrigin,
  type TestOwner,
  type TestServices,
} from "@atelier/testing/services";
import { and, eq } from "drizzle-orm";
import type { Hono } from "hono";
import sharp from "sharp";
import { afterAll, afterEach, beforeAll, beforeEach, expect, test, vi } from "vitest";
import { schema } from "../../db/index.ts";
import { listImages, uploadLimits } from "../../images/index.ts";
import { places, toUploadError } from "../../platform/index.ts";
import { readFreeSpace, withRoom } from "../../storage/index.ts";
import { createHttpApp } from "../index.ts";

let fixture: TestServices;
let app: Hono;
let owner: TestOwner;
let objectsBefore: string[];

beforeAll(async () => {
  fixture = await createTestServices();
  app = createHttpApp(fixture.services);
  owner = await openOwner(fixture.services, "owner@example.com");
});
afterAll(() => fixture.close());
beforeEach(async () => {
  objectsBefore = await listObjects(fixture.services);
});
afterEach(async () => {
  const left = await listTempFiles(fixture.services);
  if (left.length > 0) throw new Error(`left behind: ${left.join(", ")}`);
});

const boundary = "----the-boundary";
const crlf = "\r\n";
const partHead = (disposition: string) =>
  Buffer.from(`--${boundary}${crlf}Content-Disposition: form-data; ${disposition}${crlf}${crlf}`);
const fileHead = (name = "a.png") => partHead(`name="file"; filename="${name}"`);
const field = (name: string, value: string) =>
  Buffer.concat([partHead(`name="${name}"`), Buffer.from(value + crlf)]);
const end = Buffer.from(`--${boundary}--${crlf}`);
const filePart = (bytes: Buffer, name?: string) => Buffer.concat([fileHead(name), bytes, Buffer.from(crlf)]);

/** Counts what the server takes; the source is pulled piece by piece, as from a network. */
function slowBody(pieces: Iterable<Buffer | Promise<Buffer>>) {
  const taken = { bytes: 0, ended: false, cancelled: false };
  const iterator = pieces[Symbol.iterator]();
  const stream = new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        await new Promise((resolve) => setImmediate(resolve));
        const next = iterator.next();
        if (next.done) {
          taken.ended = true;
          controller.close();
          return;
        }
        const piece = await next.value;
        taken.bytes += piece.length;
        controller.enqueue(new Uint8Array(piece));
      },
      cancel() {
        taken.cancelled = true;
      },
    },
    { highWaterMark: 0 },
  );
  return { taken, stream };
}

/** Node asks for it with a streamed body; the DOM's types do not know it. */
const halfDuplex = { duplex: "half" };

interface Sent {
  readonly headers?: Record<string, string>;
  readonly signal?: AbortSignal;
  readonly key?: string;
}

async function post(
  pieces: Iterable<Buffer | Promise<Buffer>>,
  { headers = {}, signal, key = owner.apiKey }: Sent = {},
) {
  const { taken, stream } = slowBody(pieces);
  const request = new Request(`${testOrigin}/api/v1/uploads`, {
    method: "POST",
    headers: {
      authorization: `Bearer ${key}`,
      "content-type": `multipart/form-data; boundary=${boundary}`,
      ...headers,
    },
    body: stream,
    ...halfDuplex,
    ...(signal ? { signal } : {}),
  });
  const response = await app.fetch(request);
  return { status: response.status, body: (await response.json()) as Record<string, unknown>, taken };
}

const coloured = (width: number) =>
  sharp({ create: { width, height: 10, channels: 3, background: "red" } })
    .png()
    .toBuffer();

const expectNothingNew = async () => expect(await listObjects(fixture.services)).toEqual(objectsBefore);

test("a word that is no yes or no is refused, and yes and no are taken in other words too", async () => {
  const field = (word: string) =>
    Buffer.concat([partHead('name="scaleDown"'), Buffer.from(`${word}${crlf}`)]);
  expect(await post([field("maybe"), filePart(await coloured(32)), end])).toMatchObject({
    status: 400,
    body: { detail: "`scaleDown` is yes or no, as `true` or `false`." },
  });
  for (const word of ["true", "on", "no"])
    expect(await post([field(word), filePart(await coloured(33)), end])).toMatchObject({
      body: { width: 33 },
    });
});

test("a picture whose part names no file is taken, an empty choice of a file is not", async () => {
  const bytes = await coloured(31);
  const unnamed = Buffer.concat([partHead('name="file"'), bytes, Buffer.from(crlf)]);
  const typed = Buffer.concat([
    partHead(`name="file"${crlf}Content-Type: image/png`),
    bytes,
    Buffer.from(crlf),
  ]);
  const none = filePart(Buffer.alloc(0), "");
  for (const pieces of [[unnamed], [typed], [none, unnamed]])
    expect(await post([...pieces, end])).toMatchObject({ status: 201, body: { width: 31, height: 10 } });
  expect(await post([none, end])).toMatchObject({ status: 400, body: { code: "bad_request" } });
  expect(await post([filePart(Buffer.alloc(0)), end])).toMatchObject({
    body: { code: "upload_unsupported" },
  });
  const stray = partHead(`name="picture"${crlf}Content-Type: image/png`);
  expect(await post([stray, bytes, Buffer.from(crlf), end])).toMatchObject({
    status: 400,
    body: { detail: expect.stringContaining("`file`") },
  });
});

test("A15 one file answers with its id and upright size", async () => {
  const turned = await sharp(await readSample("rocket.jpg"))
    .withMetadata({ orientation: 6 })
    .toBuffer();
  const { status, body } = await post([filePart(turned, "rocket.jpg"), end]);
  expect(status).toBe(201);
  expect(body).toEqual({ id: expect.any(String), width: 427, height: 640 });
});

test("a photo stands at the day it was taken, in the zone that its sender names, and says when it was added", async () => {
  const exif = { IFD2: { DateTimeOriginal: "2016:07:12 23:30:00" } };
  const photo = await sharp(await coloured(22))
    .withExif(exif)
    .jpeg()
    .toBuffer();
  const { body } = await post([filePart(photo), field("timezone", "Europe/Sofia"), end]);
  const { images } = schema;
  const isIt = eq(images.id, String(body["id"]));
  const [row] = await fixture.services.db.select().from(images).where(isIt);
  expect(row?.createdAt).toEqual(new Date("2016-07-12T20:30:00Z"));
  expect(row?.addedAt?.getTime()).toBeGreaterThan(Date.now() - 600_000);
  await post([filePart(await coloured(23)), end]);
  const own = { ownerId: owner.caller.userId, limit: 2 };
  const widths = async (order?: "added") =>
    (await listImages(fixture.services, { ...own, order })).items.map(({ widthPx }) => widthPx);
  expect(await widths("added")).toEqual([23, 22]);
});

test("A15 many files answer in the order sent, and a role after the files counts for all", async () => {
  const parts = [filePart(await coloured(20)), filePart(await coloured(21)), field("role", "mask"), end];
  const { status, body } = await post(parts);
  expect(status).toBe(201);
  expect(body).toEqual({
    uploads: [20, 21].map((width) => ({ id: expect.any(String), width, height: 10 })),
  });
  const { images } = schema;
  const masks = await fixture.services.db
    .select({ width: images.widthPx })
    .from(images)
    .where(and(eq(images.ownerId, owner.caller.userId), eq(images.role, "mask")));
  expect(masks.map(({ width }) => width).toSorted((a, b) => a - b)).toEqual([20, 21]);
});

test("A5 a file above 25 MB is refused while it comes in, not after it came", async () => {
  const megabyte = Buffer.alloc(1_048_576, 1);
  function* pieces() {
    yield fileHead();
    for (let at = 0; at < 200; at += 1) yield megabyte;
    yield end;
  }
  const { status, body, taken } = await post(pieces());
  expect({ status, code: body.code }).toEqual({ status: 413, code: "upload_too_large" });
  expect(taken.bytes).toBeLessThan(uploadLimits.sizeBytes + 3 * megabyte.length);
  expect(taken).toMatchObject({ ended: false, cancelled: true });
  await expectNothingNew();
});

test("a file of exactly 25 MB is read in full", async () => {
  const padded = Buffer.concat([await readSample("rocket.jpg"), Buffer.alloc(uploadLimits.sizeBytes)]);
  const exact = padded.subarray(0, uploadLimits.sizeBytes);
  expect((await post([filePart(exact), end])).status).toBe(201);
});

test("A5 the 21st file is refused before a byte of it is read, and the whole batch with it", async () => {
  const pictures = await Promise.all(Array.from({ length: 20 }, (_, at) => coloured(100 + at)));
  let lastBegun = false;
  function* pieces() {
    for (const picture of pictures) yield filePart(picture);
    yield fileHead("21.png");
    for (let at = 0; at < 50; at += 1) {
      lastBegun = at > 2;
      yield Buffer.alloc(65_536);
    }
    yield end;
  }
  const { status, body } = await post(pieces());
  expect({ status, code: body.code }).toEqual({ status: 413, code: "upload_too_many" });
  expect(lastBegun).toBe(false);
  await expectNothingNew();
});

test("20 files at once are taken", async () => {
  const pictures = await Promise.all(Array.from({ length: 20 }, (_, at) => coloured(200 + at)));
  const { status, body } = await post([...pictures.map((picture) => filePart(picture)), end]);
  expect(status).toBe(201);
  expect(body.uploads).toHaveLength(20);
});

test("a body that says it is far too long is refused before it is read", async () => {
  const { status, body, taken } = await post([fileHead()], { headers: { "content-length": "999999999999" } });
  expect({ status, code: body.code, taken: taken.bytes }).toEqual({
    status: 413,
    code: "upload_too_large",
    taken: 0,
  });
});

test("A5 one bad file refuses the batch; what was stored before stays, what came with it goes", async () => {
  const known = await coloured(300);
  const { body: first } = await post([filePart(known), end]);
  objectsBefore = await listObjects(fixture.services);
  const { status, body } = await post([
    filePart(known),
    filePart(await coloured(301)),
    filePart(Buffer.from("no picture")),
    end,
  ]);
  expect({ status, code: body.code }).toEqual({ status: 415, code: "upload_unsupported" });
  await expectNothingNew();
  expect((await post([filePart(known), end])).body).toEqual(first);
});

test("A5 a client that goes away while it sends leaves nothing", async () => {
  const leaving = new AbortController();
  const picture = await coloured(400);
  function* pieces() {
    yield filePart(picture);
    yield fileHead();
    yield Buffer.alloc(100_000);
    leaving.abort();
    for (;;) yield Buffer.alloc(1_000);
  }
  const { status } = await post(pieces(), { signal: leaving.signal });
  expect(status).toBe(400);
  await expectNothingNew();
});

test("A5 a client that goes away while its pictures are made leaves nothing", async () => {
  const leaving = new AbortController();
  const pictures = await Promise.all([coloured(410), coloured(411), coloured(412)]);
  const sent = post([...pictures.map((picture) => filePart(picture)), end], { signal: leaving.signal });
  await vi.waitFor(async () => expect(await listObjects(fixture.services)).not.toEqual(objectsBefore), {
    interval: 1,
    timeout: 20_000,
  });
  leaving.abort();
  const { status } = await sent;
  expect(status).toBeGreaterThanOrEqual(400);
  await expectNothingNew();
});

test.each([
  ["no file", () => [field("role", "mask"), end], {}],
  [
    "another part's name",
    () => [Buffer.concat([partHead('name="picture"; filename="a.png"'), Buffer.from(`x${crlf}`)]), end],
    {},
  ],
  ["an unknown role", async () => [filePart(await coloured(500)), field("role", "result"), end], {}],
  ["a body that breaks off", async () => [filePart(await coloured(501)).subarray(0, 200)], {}],
  ["JSON", () => [Buffer.from("{}")], { "content-type": "application/json" }],
  ["no boundary", () => [end], { "content-type": "multipart/form-data" }],
])("%s is a bad request that leaves nothing", async (_name, pieces, headers) => {
  const { status, body } = await post(await pieces(), { headers });
  expect({ status, code: body.code }).toEqual({ status: 400, code: "bad_request" });
  await expectNothingNew();
});

test("names with paths, NUL and turned text become plain titles", async () => {
  const { body } = await post([filePart(await coloured(600), "../../..\u202Egnp.\0x.png"), end]);
  const [row] = await fixture.services.db
    .select()
    .from(schema.images)
    .where(eq(schema.images.id, String(body.id)));
  expect(row?.title).toMatch(/^[\p{L}\p{N}. ]*$/u);
  expect(row?.storageKey).toBe(`users/${owner.caller.userId}/${row?.id}`);
});

test("a quote in the name of a file, which forms write as its code, stays in the title", async () => {
  const { body } = await post([filePart(await coloured(601), "a %22big%22 100% name.png"), end]);
  const [row] = await fixture.services.db
    .select({ title: schema.images.title })
    .from(schema.images)
    .where(eq(schema.images.id, String(body.id)));
  expect(row?.title).toBe('a "big" 100% name');
});

test("F30 uploads are refused with 507 while the disk has less free space than the floor", async () => {
  const { limits } = fixture.services.config;
  const before = limits.minFreeBytes;
  limits.minFreeBytes = Number.MAX_SAFE_INTEGER;
  try {
    const { status, body } = await post([filePart(await coloured(700)), end]);
    expect({ status, code: body.code }).toEqual({ status: 507, code: "storage_full" });
    await expectNothingNew();
  } finally {
    limits.minFreeBytes = before;
  }
  expect((await post([filePart(await coloured(700)), end])).status).toBe(201);
});

test("S2 one account sends so many forms at once, however long it holds their ends back, and another sends its own", async () => {
  const other = await openOwner(fixture.services, "other@example.com");
  const gate = Promise.withResolvers<Buffer>();
  const picture = filePart(await coloured(710));
  const held = Array.from({ length: places.upload.perUser }, () => post([picture, gate.promise]));
  const files = async () => (await listTempFiles(fixture.services)).filter((name) => name.endsWith("/0"));
  await vi.waitFor(async () => expect(await files()).toHaveLength(held.length));
  const { status, body } = await post([picture, end]);
  expect({ status, code: body.code }).toEqual({ status: 429, code: "rate_limited" });
  expect((await post([picture, end], { key: other.apiKey })).status).toBe(201);
  gate.resolve(end);
  expect((await Promise.all(held)).map(({ status: code }) => code)).toEqual(held.map(() => 201));
  expect((await post([picture, end])).status).toBe(201);
});

test("F30 space that is promised to an upload is none for another, whose length counts before its first byte", async () => {
  const { services } = fixture;
  const picture = Buffer.concat([filePart(await coloured(720)), end]);
  const small = { headers: { "content-length": String(picture.length) } };
  const { freeBytes, neededBytes } = await readFreeSpace(services);
  // Less than a form may take, and much more than this one does.
  const restBytes = 262_144_000;
  await withRoom(services, freeBytes - neededBytes - restBytes, async (room) => {
    const large = { headers: { "content-length": String(2 * restBytes - uploadLimits.sizeBytes) } };
    const { status, taken } = await post([picture], large);
    expect({ status, bytes: taken.bytes }).toEqual({ status: 507, bytes: 0 });
    expect((await post([picture], small)).status).toBe(201);
    await expect(withRoom(services, 2 * restBytes, () => Promise.resolve())).rejects.toMatchObject({
      code: "storage_full",
    });
    // What it has written is in what the disk says.
    await room.noteBytes(freeBytes);
    expect((await post([picture])).status).toBe(201);
  });
  expect((await post([picture])).status).toBe(201);
});

test("F30 a form without a length is promised one file", async () => {
  const { services } = fixture;
  const gate = Promise.withResolvers<Buffer>();
  const picture = filePart(await coloured(730));
  const files = async () => (await listTempFiles(services)).filter((name) => name.endsWith("/0"));
  const { freeBytes, neededBytes } = await readFreeSpace(services);
  const promisedBytes = places.upload.perUser * uploadLimits.sizeBytes;
  await withRoom(services, freeBytes - neededBytes - 1.5 * promisedBytes, async () => {
    const held = Array.from({ length: places.upload.perUser }, () => post([picture, gate.promise]));
    await vi.waitFor(async () => expect(await files()).toHaveLength(held.length));
    const another = () => withRoom(services, promisedBytes, () => Promise.resolve("written"));
    await expect(another()).rejects.toMatchObject({ code: "storage_full" });
    gate.resolve(end);
    expect((await Promise.all(held)).map(({ status }) => status)).toEqual(held.map(() => 201));
    expect(await another()).toBe("written");
  });
});

test("F30 an upload ends where the disk becomes full while it comes in", async () => {
  const { limits } = fixture.services.config;
  const before = limits.minFreeBytes;
  const megabyte = Buffer.alloc(1_048_576, 1);
  function* pieces() {
    yield fileHead();
    for (let at = 0; at < 24; at += 1) {
      if (at === 2) limits.minFreeBytes = Number.MAX_SAFE_INTEGER;
      yield megabyte;
    }
    yield end;
  }
  try {
    const { status, body, taken } = await post(pieces());
    expect({ status, code: body.code }).toEqual({ status: 507, code: "storage_full" });
    expect(taken).toMatchObject({ ended: false, cancelled: true });
    await expectNothingNew();
  } finally {
    limits.minFreeBytes = before;
  }
});

test.each<[code: string, wanted: string | undefined, more?: object]>([
  ["ENOSPC", "storage_full"],
  ["EDQUOT", "storage_full"],
  ["EROFS", "storage_unavailable"],
  ["EMFILE", "storage_unavailable"],
  ["EIO", "storage_unavailable"],
  ["ENODEV", "storage_unavailable"],
  ["UNKNOWN", "storage_unavailable", { errno: -116 }],
  ["Unknown system error -117", "storage_unavailable", { errno: -117 }],
  ["ENOTCONN", "storage_unavailable", { path: "/mnt/share/tmp/work-1", syscall: "open" }],
  ["ENOTCONN", undefined, { syscall: "shutdown" }],
  ["ENOENT", undefined, { errno: -2 }],
])("F30 an upload that the system refuses with %s fails with %s", (code, wanted, more = {}) => {
  const cause = Object.assign(new Error(code), { code, ...more });
  const wrapped = new Error("cannot write", { cause });
  const found = toUploadError(wrapped);
  expect([Object(found).code, Object(found).cause]).toEqual([wanted, wanted ? wrapped : cause]);
});

/** The largest file that this process may write; the system then refuses a write as it does on a full disk. */
function limitFileSize(size: string): void {
  execFileSync("prlimit", ["--pid", String(process.pid), `--fsize=${size}:`]);
}

test("F30 an upload that the temporary folder cannot take is refused with 507 and leaves nothing", async () => {
  const ignore = () => undefined;
  process.on("SIGXFSZ", ignore);
  limitFileSize("1000000");
  try {
    const noise = Buffer.alloc(3_000_000, 7);
    const { status, body } = await post([filePart(noise), end]);
    expect({ status, code: body.code }).toEqual({ status: 507, code: "storage_full" });
    expect(String(body.detail)).toContain("no space");
    await expectNothingNew();
  } finally {
    limitFileSize("unlimited");
    process.off("SIGXFSZ", ignore);
  }
});
