import { createHash, randomUUID } from "node:crypto";
import { readSample } from "@atelier/testing/pictures";
import {
  createTestServices,
  openAccount,
  openOwner,
  testOrigin,
  type TestOwner,
  type TestServices,
} from "@atelier/testing/services";
import { readZip } from "@atelier/testing/zip";
import { eq } from "drizzle-orm";
import type { Hono } from "hono";
import sharp from "sharp";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createApiKey, resolveCaller } from "../../accounts/index.ts";
import { schema } from "../../db/index.ts";
import { ingest } from "../../images/index.ts";
import { createHttpApp } from "../index.ts";

let fixture: TestServices;
let app: Hono;
let owner: TestOwner;
let strangerKey: string;

beforeAll(async () => {
  fixture = await createTestServices();
  app = createHttpApp(fixture.services);
  owner = await openOwner(fixture.services, "owner@example.com");
  const stranger = await openAccount(fixture.services, "stranger@example.com");
  const userId = (await resolveCaller(fixture.services, stranger.headers))?.userId ?? "";
  strangerKey = (await createApiKey(fixture.services, { userId, name: "stranger" })).key;
});
afterAll(() => fixture.close());

const send = (path: string, init: { method?: string; headers?: Record<string, string>; key?: string } = {}) =>
  app.fetch(
    new Request(`${testOrigin}/api/v1${path}`, {
      method: init.method ?? "GET",
      // Answers name their request, and are compared.
      headers: {
        authorization: `Bearer ${init.key ?? owner.apiKey}`,
        "x-request-id": "same",
        ...init.headers,
      },
    }),
  );

const addPicture = async (name: string) =>
  ingest(fixture.services, {
    ownerId: owner.caller.userId,
    role: "upload",
    bytes: await readSample(name),
    name,
  });

const fileOf = async (id: string) => Buffer.from(await (await send(`/images/${id}/file`)).arrayBuffer());

const unzip = async (query: string) =>
  readZip(Buffer.from(await (await send(`/images/zip?${query}`)).arrayBuffer()));

test("A15 pictures are listed by pages, and filters of the query count", async () => {
  const [first, second] = [await addPicture("rocket.jpg"), await addPicture("chelsea.png")];
  const page = await (await send("/images?limit=1")).json();
  expect(page).toMatchObject({
    items: [{ id: second.id, title: "chelsea" }],
    nextCursor: expect.any(String),
  });
  const next = await (await send(`/images?limit=1&cursor=${page.nextCursor}`)).json();
  expect(next.items).toMatchObject([{ id: first.id }]);
  expect((await (await send("/images?search=rock&starred=false&role=upload")).json()).items).toMatchObject([
    { id: first.id },
  ]);
  expect((await (await send("/images?starred=true")).json()).items).toEqual([]);
  expect(
    (await (await send("/images?from=2000-01-01T00:00:00Z&to=2000-01-02T00:00:00%2B01:00")).json()).items,
  ).toEqual([]);
});

test.each([
  "limit=0",
  "limit=101",
  "role=mask",
  "from=yesterday",
  "cursor=x",
  "colour=red",
  "starred=perhaps",
])("the query %s is a bad request", async (query) => {
  const response = await send(`/images?${query}`);
  expect({ status: response.status, ...(await response.json()) }).toMatchObject({
    status: 400,
    code: "bad_request",
  });
});

test("A15 a file is served to its owner, asked for again without being sent again, and saved under its title", async () => {
  const path = `/images/${owner.imageId}/file`;
  const response = await send(path);
  expect(response.status).toBe(200);
  expect(response.headers.get("content-type")).toBe("image/png");
  const bytes = Buffer.from(await response.arrayBuffer());
  expect(await sharp(bytes).metadata()).toMatchObject({ width: 600, height: 400 });
  expect(response.headers.get("content-length")).toBe(String(bytes.length));
  const etag = response.headers.get("etag") ?? "";
  const again = await send(path, { headers: { "if-none-match": etag } });
  expect({ status: again.status, body: await again.text(), etag: again.headers.get("etag") }).toEqual({
    status: 304,
    body: "",
    etag,
  });
  const preview = await send(`${path}?variant=preview`, { headers: { "if-none-match": etag } });
  expect({ status: preview.status, type: preview.headers.get("content-type") }).toEqual({
    status: 200,
    type: "image/webp",
  });
  await preview.body?.cancel();
  const saved = await send(`${path}?variant=thumbnail&download=1`);
  expect(saved.headers.get("content-disposition")).toBe(
    `attachment; filename="coffee.webp"; filename*=UTF-8''coffee.webp`,
  );
  await saved.body?.cancel();
});

test("a picture is sent in another format and smaller, under that format's name, and asked for again without being made again", async () => {
  const clear = { r: 255, g: 0, b: 0, alpha: 0 };
  const png = await sharp({ create: { width: 300, height: 200, channels: 4, background: clear } })
    .composite([
      { input: { create: { width: 150, height: 200, channels: 3, background: "blue" } }, left: 0, top: 0 },
    ])
    .png()
    .toBuffer();
  const own = { ownerId: owner.caller.userId, role: "upload" } as const;
  const { id } = await ingest(fixture.services, { ...own, bytes: png, name: "half.png" });
  const path = `/images/${id}/file`;
  const plain = await send(path);
  await plain.body?.cancel();

  const jpeg = await send(`${path}?format=jpeg&longestPx=150&download=1`);
  const bytes = Buffer.from(await jpeg.arrayBuffer());
  expect(await sharp(bytes).metadata()).toMatchObject({ format: "jpeg", width: 150, height: 100 });
  // What is transparent is white.
  const pixels = await sharp(bytes).raw().toBuffer();
  for (const value of pixels.subarray(pixels.length - 3)) expect(value).toBeGreaterThan(250);
  expect(jpeg.headers.get("content-type")).toBe("image/jpeg");
  expect(jpeg.headers.get("content-length")).toBe(String(bytes.length));
  expect(jpeg.headers.get("content-disposition")).toContain('attachment; filename="half.jpg"');

  const webp = await send(`${path}?format=webp&longestPx=9000`);
  const kept = await sharp(Buffer.from(await webp.arrayBuffer())).metadata();
  expect(kept).toMatchObject({ format: "webp", width: 300, height: 200, hasAlpha: true });
  const better = await send(`${path}?format=webp&longestPx=9000&quality=99`, { method: "HEAD" });
  const tags = [plain, jpeg, webp, better].map(({ headers }) => headers.get("etag") ?? "");
  expect(new Set(tags).size).toBe(4);
  const again = await send(`${path}?format=jpeg&longestPx=150`, {
    headers: { "if-none-match": tags[1] ?? "" },
  });
  expect([again.status, await again.text()]).toEqual([304, ""]);
  const unlike = await send(`${path}?format=jpeg`, { headers: { "if-none-match": tags[0] ?? "" } });
  expect(unlike.status).toBe(200);
  expect(await sharp(Buffer.from(await unlike.arrayBuffer())).metadata()).toMatchObject({ width: 300 });
  const other = await send(`${path}?format=jpeg&longestPx=151`, {
    headers: { "if-none-match": tags[1] ?? "" },
  });
  expect([other.status, (await other.arrayBuffer()).byteLength > 0]).toEqual([200, true]);
  // As it is stored, where that is what is asked for.
  const same = await send(`${path}?format=png`);
  expect((await same.arrayBuffer()).byteLength).toBe(Number(plain.headers.get("content-length")));

  const files = await unzip(`ids=${id}&format=jpeg&longestPx=60&quality=50`);
  expect([...files.keys()].toSorted()).toEqual(["half.jpg", "pictures.json"]);
  expect(await sharp(files.get("half.jpg")).metadata()).toMatchObject({ format: "jpeg", width: 60 });
  expect((await send(`${path}?format=jpeg`, { key: strangerKey })).status).toBe(404);
});

test.each([
  "format=avif",
  "format=jpeg&quality=0",
  "format=jpeg&quality=101",
  "format=jpeg&longestPx=0",
  "format=jpeg&longestPx=1.5",
])("a file and a zip as %s are bad requests", async (query) => {
  expect((await send(`/images/${owner.imageId}/file?${query}`)).status).toBe(400);
  expect((await send(`/images/zip?ids=${owner.imageId}&${query}`)).status).toBe(400);
});

test.each([
  "format=jpeg&longestPx=40",
  "longestPx=40",
  "longestPx=40&variant=preview",
  "longestPx=40&settings=true",
])("a file as %s is made of the original as a JPEG", async (query) => {
  const answer = await send(`/images/${owner.imageId}/file?${query}`);
  const { format, width } = await sharp(Buffer.from(await answer.arrayBuffer())).metadata();
  expect([answer.status, format, width]).toEqual([200, "jpeg", 40]);
});

test("a result is sent with its settings on wish alone, its pixels and its mark untouched", async () => {
  const { services } = fixture;
  const { id } = await addPicture("chelsea.png");
  const params = {
    prompt: "ein Bär, schläft",
    negativePrompt: "fog",
    steps: 20,
    seed: 7,
    width: 512,
    height: 768,
  };
  await services.db
    .update(schema.jobs)
    .set({ kind: "text_to_image", workflow: "t2i_sdxl", params })
    .where(eq(schema.jobs.id, owner.jobId));
  await services.db.update(schema.images).set({ jobId: owner.jobId }).where(eq(schema.images.id, id));
  const plain = await send(`/images/${id}/file`);
  const before = Buffer.from(await plain.arrayBuffer());
  expect(before.includes("schl")).toBe(false);

  const path = `/images/${id}/file?settings=true&download=1`;
  const response = await send(path);
  const bytes = Buffer.from(await response.arrayBuffer());
  expect(response.headers.get("content-length")).toBe(String(bytes.length));
  expect(response.headers.get("etag")).not.toBe(plain.headers.get("etag"));
  const { comments = [] } = await sharp(bytes).metadata();
  const texts = Object.fromEntries(comments.map(({ keyword, text }) => [keyword, text]));
  expect(texts["parameters"]).toBe(
    "ein Bär, schläft\nNegative prompt: fog\nSteps: 20, Seed: 7, Size: 512x768, Model: t2i_sdxl, Version: Atelier",
  );
  expect(JSON.parse(texts["atelier"] ?? "")).toEqual({
    version: 1,
    kind: "text_to_image",
    workflow: "t2i_sdxl",
    model: null,
    params,
    inputs: [{ role: "image", imageId: owner.imageId }],
  });
  const pixels = (file: Buffer) => sharp(file).raw().toBuffer();
  expect((await pixels(bytes)).equals(await pixels(before))).toBe(true);

  const head = await send(path, { method: "HEAD" });
  expect(head.headers.get("content-length")).toBe(String(bytes.length));
  const again = await send(path, { headers: { "if-none-match": response.headers.get("etag") ?? "" } });
  expect(again.status).toBe(304);
  const small = await send(`/images/${id}/file?settings=true&variant=preview`);
  expect(Buffer.from(await small.arrayBuffer()).includes("parameters")).toBe(false);

  const zipped = async (query: string) => (await unzip(`ids=${id}${query}`)).get("chelsea.png");
  expect(await zipped("")).toEqual(before);
  expect((await zipped("&settings=true"))?.includes("Negative prompt: fog")).toBe(true);
});

test("a picture that nothing was made from is sent as it is, also with its settings", async () => {
  const plain = await send(`/images/${owner.imageId}/file`);
  const asked = await send(`/images/${owner.imageId}/file?settings=true`);
  expect(asked.headers.get("etag")).toBe(plain.headers.get("etag"));
  expect(await asked.arrayBuffer()).toEqual(await plain.arrayBuffer());
});

test("HEAD answers with the same headers and no body", async () => {
  const path = `/images/${owner.imageId}/file`;
  const [head, get] = [await send(path, { method: "HEAD" }), await send(path)];
  expect(head.status).toBe(200);
  expect(Object.fromEntries(head.headers)).toEqual(Object.fromEntries(get.headers));
  expect(await head.text()).toBe("");
  await get.body?.cancel();
});

test("S1 another's picture and its file are answered like unknown ones, even to whoever knows the ETag", async () => {
  const etag = (await send(`/images/${owner.imageId}/file`, { method: "HEAD" })).headers.get("etag") ?? "";
  const unknown = "01890000-0000-7000-8000-000000000000";
  for (const tail of ["", "/file", "/file?variant=thumbnail"]) {
    const foreign = await send(`/images/${owner.imageId}${tail}`, {
      key: strangerKey,
      headers: { "if-none-match": etag },
    });
    const absent = await send(`/images/${unknown}${tail}`, { key: strangerKey });
    expect([foreign.status, absent.status]).toEqual([404, 404]);
    expect(await foreign.text()).toBe(await absent.text());
  }
});

test("an unknown variant is a bad request", async () => {
  expect((await send(`/images/${owner.imageId}/file?variant=..%2Foriginal`)).status).toBe(400);
});

test("A15 a deleted picture is gone from every answer at once", async () => {
  const { id } = await addPicture("astronaut.png");
  expect((await send(`/images/${id}`, { method: "DELETE", key: strangerKey })).status).toBe(404);
  expect((await send(`/images/${id}`)).status).toBe(200);
  expect((await send(`/images/${id}`, { method: "DELETE" })).status).toBe(204);
  expect((await send(`/images/${id}`)).status).toBe(404);
  expect((await send(`/images/${id}/file`)).status).toBe(404);
  expect((await send(`/images/${id}`, { method: "DELETE" })).status).toBe(404);
  const { items } = await (await send("/images?limit=100")).json();
  expect(items.map((item: { id: string }) => item.id)).not.toContain(id);
});

test("title, star, rating and tags of a picture are changed, and the tags are listed", async () => {
  const picture = await addPicture("coffee.png");
  const change = async (body: unknown) =>
    app.fetch(
      new Request(`${testOrigin}/api/v1/images/${picture.id}`, {
        method: "PATCH",
        headers: { authorization: `Bearer ${owner.apiKey}`, "content-type": "application/json" },
        body: JSON.stringify(body),
      }),
    );
  const wanted = { title: "Cup", starred: true, rating: 5, tags: ["Warm", "morning light"] };
  expect(await (await change(wanted)).json()).toMatchObject({ ...wanted, tags: ["morning light", "Warm"] });
  expect(await (await send("/tags")).json()).toEqual({
    items: [
      { id: expect.any(String), name: "morning light", pictures: 1 },
      { id: expect.any(String), name: "Warm", pictures: 1 },
    ],
  });
  for (const wrong of [{ rating: 6 }, { tags: ["none"] }, { colour: "red" }])
    expect((await change(wrong)).status).toBe(400);
});

test("a file that was uploaded before is found by the hash of its bytes, by its owner alone", async () => {
  const { id } = await addPicture("astronaut.png");
  const hash = createHash("sha256")
    .update(await readSample("astronaut.png"))
    .digest("hex");
  for (const sha256 of [hash, hash.toUpperCase()]) {
    const { status, headers } = await send(`/images/by-hash/${sha256}`, { method: "HEAD" });
    expect([status, headers.get("location")]).toEqual([200, `/api/v1/images/${id}`]);
  }
  expect(await (await send(`/images/by-hash/${hash}`)).json()).toMatchObject({ id });
  const statusOf = async (path: string, key?: string) =>
    (await send(`/images/by-hash/${path}`, { method: "HEAD", ...(key && { key }) })).status;
  expect(await statusOf(hash, strangerKey)).toBe(404);
  expect(await statusOf(`${hash}?role=mask`)).toBe(404);
  expect(await statusOf("0".repeat(64))).toBe(404);
  expect(await statusOf("0".repeat(63))).toBe(404);
  await send(`/images/${id}`, { method: "DELETE" });
  expect(await statusOf(hash)).toBe(404);
});

test.each(["from=0000-01-01T00:00:00Z", "to=9999-12-31T23:59:59-14:00", "from=2026-02-31T00:00:00Z"])(
  "the moment %s is refused as one, and costs no answer of the database",
  async (query) => {
    const answer = await send(`/images?${query}`);
    expect([answer.status, (await answer.json()).errors]).toEqual([400, [expect.objectContaining({})]]);
  },
);

test("days of a search are of UTC, or of the time zone that is named", async () => {
  const { id } = await addPicture("coffee.png");
  const createdAt = new Date("2019-05-31T22:30:00Z");
  await fixture.services.db.update(schema.images).set({ createdAt }).where(eq(schema.images.id, id));
  const found = async (zone: string) => {
    const { items } = await (await send(`/images?search=from:2019-06%20to:2019-06${zone}`)).json();
    return items.length;
  };
  expect([await found(""), await found("&timezone=Europe/Sofia"), await found("&timezone=UTC")]).toEqual([
    0, 1, 0,
  ]);
  const wrong = await send("/images?search=from:2019&timezone=Mars/Olympus");
  const message = "is no time zone of the IANA database, such as Europe/Sofia";
  expect([wrong.status, await wrong.json()]).toEqual([
    400,
    expect.objectContaining({ errors: [{ path: "timezone", message }] }),
  ]);
});

test("A15 several pictures are saved as one zip, each under its title once, with what is known of it", async () => {
  const [rocket, other] = [await addPicture("rocket.jpg"), await addPicture("garment_tee.jpg")];
  const change = (id: string, title: string) =>
    app.fetch(
      new Request(`${testOrigin}/api/v1/images/${id}`, {
        method: "PATCH",
        headers: { authorization: `Bearer ${owner.apiKey}`, "content-type": "application/json" },
        body: JSON.stringify({ title, tags: ["Beach"] }),
      }),
    );
  await change(rocket.id, "..Ракета / 火箭?");
  await change(other.id, "РАКЕТА / 火箭");
  const files = await unzip(`ids=${rocket.id},${other.id},${owner.imageId},${rocket.id}`);
  expect(files.get("Ракета  火箭.jpg")).toEqual(await fileOf(rocket.id));
  expect(files.get("РАКЕТА  火箭 (2).jpg")).toEqual(await fileOf(other.id));
  const told = JSON.parse(String(files.get("pictures.json")));
  expect(told).toMatchObject([
    { id: rocket.id, file: "Ракета  火箭.jpg", tags: ["Beach"] },
    { id: other.id, file: "РАКЕТА  火箭 (2).jpg" },
    { id: owner.imageId },
  ]);
  const names: string[] = told.map(({ file }: { file: string }) => file);
  expect(new Set(files.keys())).toEqual(new Set(["pictures.json", ...names]));
});

test("S1 a zip has nobody else's pictures and none of the trash, and is refused whole", async () => {
  const { id } = await addPicture("coffee.png");
  expect((await send(`/images/zip?ids=${id}`, { key: strangerKey })).status).toBe(404);
  await send(`/images/${id}`, { method: "DELETE" });
  expect((await send(`/images/zip?ids=${owner.imageId},${id}`)).status).toBe(404);
});

test.each(["", "ids=", "ids=coffee", `ids=${Array.from({ length: 201 }, () => randomUUID()).join(",")}`])(
  "a zip of %.40s is a bad request",
  async (query) => {
    expect((await send(`/images/zip?${query}`)).status).toBe(400);
  },
);
