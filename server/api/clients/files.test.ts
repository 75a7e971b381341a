import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { createServer, get, type IncomingMessage, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { testOrigin } from "@atelier/testing/services";
import { listObjects, listTempFiles, readSample } from "@atelier/testing/pictures";
import { and, eq, isNotNull, isNull, sql, sum } from "drizzle-orm";
import sharp from "sharp";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { schema } from "../../db/index.ts";
import { changeImage, clientListLimits, expireClientFiles, ingest } from "../../images/index.ts";
import { removeJob } from "../../jobs/cleanup.ts";
import { expireEphemeral } from "../../jobs/index.ts";
import { type ClientScene, completeJob, drawPng, endJob, openClientScene } from "./fixtures/scene.ts";

const { clientFiles, images } = schema;

let scene: ClientScene;
beforeAll(async () => {
  scene = await openClientScene();
});
afterAll(() => scene.close());

async function upload(userId: string, files: Readonly<Record<string, Buffer>>, key = scene.owner.key) {
  const body = new FormData();
  for (const [name, bytes] of Object.entries(files))
    body.append("imageFiles", new Blob([new Uint8Array(bytes)], { type: "image/png" }), name);
  body.append("userId", userId);
  return scene.send("/upload", { method: "POST", key, body });
}

async function list(userId: string, key = scene.owner.key): Promise<Buffer[]> {
  const response = await scene.send(`/images/${encodeURIComponent(userId)}`, { key });
  expect(response.status).toBe(200);
  return ((await response.json()) as string[]).map((text) => Buffer.from(text, "base64"));
}

async function raw(key: string, apiKey = scene.owner.key) {
  const response = await scene.send(`/image/raw/${key}`, { key: apiKey });
  const bytes = Buffer.from(await response.arrayBuffer());
  return { status: response.status, type: response.headers.get("content-type"), bytes };
}
const left = (userName: string) => scene.services.db.$count(clientFiles, eq(clientFiles.userName, userName));
/** Files that were in no whole answer yet. */
const unlisted = (userName: string) =>
  scene.services.db.$count(
    clientFiles,
    and(eq(clientFiles.userName, userName), isNull(clientFiles.listedAt)),
  );
/** The answer is noted, and when its time is over the sweep removes the files. */
async function untilEmpty(userName: string): Promise<void> {
  await vi.waitUntil(async () => (await unlisted(userName)) === 0, { timeout: 10_000, interval: 10 });
  const { db } = scene.services;
  const before = await left(userName);
  await expireClientFiles(scene.services);
  expect(await left(userName)).toBe(before);
  await db
    .update(clientFiles)
    .set({ listedAt: sql`now() - interval '601 s'` })
    .where(eq(clientFiles.userName, userName));
  await expireClientFiles(scene.services);
  expect(await left(userName)).toBe(0);
}
const colourOf = async (png: Buffer) => [...(await sharp(png).removeAlpha().raw().toBuffer()).subarray(0, 3)];

test("A15 A16 files are stored under userId/originalFilename and read raw under it without being removed", async () => {
  const sent = { "my boat.png": await drawPng("red"), "лодка.png": await drawPng("lime") };
  const response = await upload("u-1", sent);
  expect(response.status).toBe(201);
  expect(await response.json()).toEqual({
    keys: ["u-1/my boat.png", "u-1/лодка.png"],
    files: [
      { originalFilename: "my boat.png", key: "u-1/my boat.png" },
      { originalFilename: "лодка.png", key: "u-1/лодка.png" },
    ],
  });
  const spellings = ["u-1/my%20boat.png", "u-1%2Fmy%20boat.png"];
  for (const key of [...spellings, ...spellings]) {
    const read = await raw(key);
    expect([read.status, read.type]).toEqual([200, "image/png"]);
    expect(await colourOf(read.bytes)).toEqual([255, 0, 0]);
  }
  expect((await raw(`u-1/${encodeURIComponent("лодка.png")}`)).status).toBe(200);
  expect(await left("u-1")).toBe(2);
});

test("A15 unknown keys and keys of others are 404", async () => {
  await upload("u-2", { "a.png": await drawPng("red") });
  const keys = ["u-2/b.png", "u-2", "u-2/", "nobody/a.png", "a.png", "..%2Fu-2/a.png", "a%00b/c.png"];
  for (const key of keys) expect((await raw(key)).status).toBe(404);
  expect((await raw("u-2/a.png", scene.stranger.key)).status).toBe(404);
  expect((await raw("u-2/a.png", scene.admin.key)).status).toBe(404);
  expect((await raw("a%00b/c.png", scene.admin.key)).status).toBe(404);
});

test("A15 A16 a user's files come as a list of base64, and again until their time is over; then rows and objects are gone", async () => {
  const before = await listObjects(scene.services);
  await upload("u-3", { "a.png": await drawPng("red"), "b.png": await drawPng("blue") });
  const listed = await list("u-3");
  expect(await Promise.all(listed.map(colourOf))).toEqual([
    [255, 0, 0],
    [0, 0, 255],
  ]);
  // The answer may have been lost on its way.
  await vi.waitUntil(async () => (await unlisted("u-3")) === 0);
  expect(await list("u-3")).toEqual(listed);
  await upload("u-3", { "c.png": await drawPng("lime") });
  expect(await Promise.all((await list("u-3")).map(colourOf))).toEqual([[0, 255, 0]]);
  await untilEmpty("u-3");
  await vi.waitUntil(async () => (await listObjects(scene.services)).length === before.length);
  expect(await list("u-3")).toEqual([]);
  expect((await raw("u-3/a.png")).status).toBe(404);
});

test("A15 a reader that breaks off, and one that asks for the headers, remove nothing", async () => {
  await upload("u-4", { "a.png": await drawPng("red") });
  await scene.send("/images/u-4", { method: "HEAD" });
  const response = await scene.send("/images/u-4");
  const reader = response.body?.getReader();
  await reader?.read();
  await reader?.cancel();
  expect(await list("u-4")).toHaveLength(1);
});

test("A15 an answer holds 50 files at most, the rest comes next time", async () => {
  const picture = await drawPng("red");
  const names = Array.from({ length: clientListLimits.files + 3 }, (_, i) => `${i}.png`);
  for (let at = 0; at < names.length; at += 20)
    await upload("u-5", Object.fromEntries(names.slice(at, at + 20).map((name) => [name, picture])));
  expect(await list("u-5")).toHaveLength(clientListLimits.files);
  await vi.waitUntil(async () => (await unlisted("u-5")) === 3);
  expect(await list("u-5")).toHaveLength(3);
});

test("A15 an answer holds 100 MB at most, and one file whatever its size", async () => {
  const pictures = {
    "a.png": await drawPng("red"),
    "b.png": await drawPng("lime"),
    "c.png": await drawPng("blue"),
  };
  await upload("u-6", pictures);
  const rows = await scene.services.db.select().from(clientFiles).where(eq(clientFiles.userName, "u-6"));
  const resize = (name: string, sizeBytes: number) =>
    scene.services.db
      .update(images)
      .set({ sizeBytes })
      .where(eq(images.id, rows.find(({ fileName }) => fileName === name)?.imageId ?? ""));
  const response = scene.send("/images/u-6");
  expect((await (await response).json()) as string[]).toHaveLength(3);
  await untilEmpty("u-6");
  await upload("u-6", pictures);
  rows.splice(
    0,
    3,
    ...(await scene.services.db.select().from(clientFiles).where(eq(clientFiles.userName, "u-6"))),
  );
  await resize("a.png", clientListLimits.sizeBytes + 1);
  // A file of another size than its row counts as damaged, so that the answer shows which files were chosen.
  expect(await list("u-6")).toHaveLength(0);
  await vi.waitUntil(async () => (await unlisted("u-6")) === 2);
  expect(await list("u-6")).toHaveLength(2);
});

test("A15 a name that comes again replaces the picture, also twice in one request", async () => {
  await upload("u-7", { "a.png": await drawPng("red") });
  const before = (await listObjects(scene.services)).length;
  const body = new FormData();
  for (const colour of ["lime", "blue"])
    body.append("imageFiles", new Blob([new Uint8Array(await drawPng(colour))]), "a.png");
  body.append("user_id", "u-7");
  expect((await scene.send("/upload", { method: "POST", body })).status).toBe(201);
  expect((await listObjects(scene.services)).length).toBe(before);
  const [only, ...others] = await list("u-7");
  expect([await colourOf(only ?? Buffer.alloc(0)), others]).toEqual([[0, 0, 255], []]);
});

test("A15 a replacement during the list is not removed with what was listed", async () => {
  await upload("u-8", { "a.png": await drawPng("red") });
  const response = await scene.send("/images/u-8");
  await upload("u-8", { "a.png": await drawPng("blue") });
  await response.text();
  const [later] = await list("u-8");
  expect(await colourOf(later ?? Buffer.alloc(0))).toEqual([0, 0, 255]);
});

test("A15 the gallery keeps its own copy of the same bytes, and what got a star", async () => {
  const { services, owner } = scene;
  const bytes = await readSample("coffee.png");
  const mine = await ingest(services, { ownerId: owner.id, role: "upload", bytes, name: "coffee.png" });
  await upload("u-9", { "coffee.png": bytes, "star.png": await drawPng("gold") });
  const rows = await services.db.select().from(clientFiles).where(eq(clientFiles.userName, "u-9"));
  const starred = rows.find(({ fileName }) => fileName === "star.png")?.imageId ?? "";
  await changeImage(services, { id: starred, ownerId: owner.id, starred: true });
  expect(await list("u-9")).toHaveLength(2);
  await untilEmpty("u-9");
  for (const id of [mine.id, starred]) expect(await services.db.$count(images, eq(images.id, id))).toBe(1);
});

test("A15 A16 an admin's key has the files of each user apart; another key has its own under any name", async () => {
  const { admin, stranger } = scene;
  await upload("zoe", { "a.png": await drawPng("red") }, admin.key);
  await upload("zoe", { "a.png": await drawPng("blue") }, stranger.key);
  expect((await raw("zoe/a.png", admin.key)).status).toBe(200);
  expect((await raw("zoe/a.png")).status).toBe(404);
  const users = await scene.services.db.$count(schema.clientUsers);
  expect(await list("never-seen", admin.key)).toEqual([]);
  expect(await scene.services.db.$count(schema.clientUsers)).toBe(users);
  const [first] = await list("zoe", stranger.key);
  expect(await colourOf(first ?? Buffer.alloc(0))).toEqual([0, 0, 255]);
  expect(await list("zoe", admin.key)).toHaveLength(1);
});

test("A15 of a request with a file that is no picture nothing is stored", async () => {
  const { services, admin } = scene;
  const files = { "a.png": await drawPng("red"), "b.png": Buffer.from("text") };
  expect((await upload("u-10", files, admin.key)).status).toBe(415);
  expect([await left("u-10"), await listTempFiles(services)]).toEqual([0, []]);
  const [user] = await services.db
    .select()
    .from(schema.clientUsers)
    .where(eq(schema.clientUsers.name, "u-10"));
  const objects = (await listObjects(services)).filter((key) => key.includes(user?.userId ?? "no user"));
  expect(objects).toEqual([]);
  expect((await upload("", { "a.png": await drawPng("red") })).status).toBe(400);
  expect((await scene.send("/upload", { method: "POST", body: new FormData() })).status).toBe(400);
});

test("A15 two uploads of the same names at once both succeed", async () => {
  const files = { "a.png": await drawPng("red"), "b.png": await drawPng("blue") };
  const answers = await Promise.all(Array.from({ length: 6 }, () => upload("u-11", files)));
  expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 201));
  expect(await left("u-11")).toBe(2);
  expect(await list("u-11")).toHaveLength(2);
});

test("A15 a replacement needs no space beside what it replaces", async () => {
  const { db } = scene.services;
  await upload("u-12", { "a.png": await drawPng("red") });
  const [kept] = await db
    .select({ sizeBytes: sum(images.sizeBytes).mapWith(Number) })
    .from(images)
    .where(eq(images.ownerId, scene.owner.id));
  const limit = (quotaBytes: number | null) =>
    db.update(schema.users).set({ quotaBytes }).where(eq(schema.users.id, scene.owner.id));
  await limit((kept?.sizeBytes ?? 0) + 1);
  expect((await upload("u-12", { "a.png": await drawPng("lime") })).status).toBe(201);
  await limit(1);
  expect((await upload("u-12", { "a.png": await drawPng("blue") })).status).toBe(507);
  await limit(null);
  expect(await colourOf((await raw("u-12/a.png")).bytes)).toEqual([0, 255, 0]);
});

test("A15 a file stays when a job that used its picture is removed", async () => {
  const { services, owner } = scene;
  await upload("u-13", { "a.png": await drawPng("red") });
  const [file] = await services.db.select().from(clientFiles).where(eq(clientFiles.userName, "u-13"));
  const response = await scene.send("/jobsRedis", {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ userId: "u-13", prompt: "a boat" }),
  });
  const { jobId } = (await response.json()) as { jobId: string };
  await services.db.insert(schema.jobInputs).values({ jobId, imageId: file?.imageId ?? "", role: "image" });
  await endJob(services, jobId, "completed");
  await removeJob(services, jobId);
  expect(await services.db.$count(schema.jobs, eq(schema.jobs.ownerId, owner.id))).toBe(0);
  expect((await raw("u-13/a.png")).status).toBe(200);
});

/** The app behind a port, as Next serves it. */
async function listen(): Promise<Server> {
  const server = createServer((incoming, outgoing) => {
    const headers = { authorization: `Bearer ${scene.owner.key}` };
    void Promise.resolve(scene.app.fetch(new Request(`${testOrigin}${incoming.url}`, { headers }))).then(
      async (answer) => {
        outgoing.writeHead(answer.status, Object.fromEntries(answer.headers));
        const body = Buffer.from(await answer.arrayBuffer());
        outgoing.end(body);
      },
    );
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return server;
}

/** Reads 61 kB of an answer and cuts the connection. */
async function readSome(server: Server, path: string): Promise<void> {
  const { port } = server.address() as AddressInfo;
  const [answer] = (await once(get({ port, path, agent: false }), "response")) as [IncomingMessage];
  let sizeBytes = 0;
  for await (const chunk of answer) {
    sizeBytes += (chunk as Buffer).length;
    if (sizeBytes > 61_000) break;
  }
  answer.destroy();
}

test.each([
  ["small", 300],
  ["of a megabyte", 600],
  ["of some megabytes", 1_400],
])(
  "A8 A15 A16 pictures, %s, of a client that reads 61 kB and leaves are there afterwards",
  async (name, sidePx) => {
    const noise = randomBytes(sidePx * sidePx * 3);
    const raw = { width: sidePx, height: sidePx, channels: 3 } as const;
    const picture = await sharp(noise, { raw }).png().toBuffer();
    const userName = `left-${name}`;
    await upload(userName, { "a.png": picture });
    const headers = { "content-type": "application/json" };
    const body = JSON.stringify({ userId: "u", prompt: "a boat" });
    const asked = await scene.send("/jobsRedis", { method: "POST", headers, body });
    const { jobId: id } = (await asked.json()) as { jobId: string };
    await completeJob(scene, id, picture);
    const server = await listen();
    try {
      for (const path of [`/images/${encodeURIComponent(userName)}`, `/jobResult?jobId=${id}`])
        await readSome(server, path);
      const jobs = and(eq(schema.jobs.id, id), isNotNull(schema.jobs.answeredAt));
      await vi.waitUntil(async () => (await unlisted(userName)) === 0);
      await vi.waitUntil(async () => (await scene.services.db.$count(schema.jobs, jobs)) === 1);
      await vi.waitUntil(async () => (await scene.services.db.$count(schema.resultHolds)) === 0);
      await expireClientFiles(scene.services);
      await expireEphemeral(scene.services);
      expect(await list(userName)).toHaveLength(1);
      const answer = await scene.send(`/jobResult?jobId=${id}`);
      expect(await answer.json()).toMatchObject({ status: "completed", image_type: "image/png" });
    } finally {
      server.close();
    }
  },
);
