import { createHash } from "node:crypto";
import { readSample } from "@atelier/testing/pictures";
import { startS3, type TestS3 } from "@atelier/testing/s3";
import { createTestServices, openOwner, testOrigin } from "@atelier/testing/services";
import type { TestOwner, TestServices } from "@atelier/testing/services";
import { eq } from "drizzle-orm";
import type { Hono } from "hono";
import sharp from "sharp";
import { afterAll, beforeAll, expect, test } from "vitest";
import { schema } from "../../db/index.ts";
import { ingest } from "../../images/index.ts";
import { createHttpApp } from "../index.ts";

const { jobs, jobOutputs } = schema;

let s3: TestS3;
let opened: TestServices;
let app: Hono;
let owner: TestOwner;

beforeAll(async () => {
  s3 = await startS3();
  opened = await createTestServices({ env: { ...s3.env, S3_DOWNLOADS: "link" } });
  app = createHttpApp(opened.services);
  owner = await openOwner(opened.services, "owner@example.com");
});
afterAll(async () => {
  await opened?.close();
  await s3?.destroy();
});

interface Asked {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

const ask = (path: string, { method = "GET", headers = {} }: Asked = {}) =>
  app.fetch(
    new Request(`${testOrigin}/api/v1/images/${path}`, {
      method,
      headers: { authorization: `Bearer ${owner.apiKey}`, ...headers },
    }),
  );

async function linkOf(path: string): Promise<string> {
  const answer = await ask(path);
  expect(answer.status).toBe(302);
  expect(answer.headers.get("cache-control")).toBe("private, no-store");
  return answer.headers.get("location") ?? "";
}

async function addPicture(name = "coffee.png"): Promise<string> {
  const bytes = await readSample(name);
  const facts = { ownerId: owner.caller.userId, role: "upload", name } as const;
  return (await ingest(opened.services, { ...facts, bytes })).id;
}

test("A16 S3 a picture is a link to the bucket that needs no key, shows the picture under its name and type, and ends within a quarter of an hour", async () => {
  const id = await addPicture();
  const link = await linkOf(`${id}/file?download=1`);
  expect(Number(new URL(link).searchParams.get("X-Amz-Expires"))).toBeLessThanOrEqual(900);
  const file = await fetch(link);
  expect(file.status).toBe(200);
  expect(Object.fromEntries(file.headers)).toMatchObject({
    "content-type": "image/png",
    "content-disposition": `attachment; filename="coffee.png"; filename*=UTF-8''coffee.png`,
    "cache-control": "private, max-age=900, immutable",
  });
  const hash = createHash("sha256")
    .update(Buffer.from(await file.arrayBuffer()))
    .digest("hex");
  const { headers } = await ask(`${id}/file`, { method: "HEAD" });
  expect(headers.get("etag")).toContain(hash.slice(0, 32));
  const preview = await fetch(await linkOf(`${id}/file?variant=preview`));
  expect(preview.headers.get("content-type")).toBe("image/webp");
  await preview.body?.cancel();
});

test("S3 a link opens nothing else: not another key, type or time, and nothing without its signature", async () => {
  const link = new URL(await linkOf(`${await addPicture()}/file`));
  const other = new URL(await linkOf(`${await addPicture("rocket.jpg")}/file`));
  const change = (edit: (url: URL) => void) => {
    const url = new URL(link);
    edit(url);
    return url;
  };
  const changed = [
    change((url) => (url.pathname = other.pathname)),
    change((url) => (url.search = "")),
    change(({ searchParams }) => searchParams.set("X-Amz-Expires", "9000")),
    change(({ searchParams }) => searchParams.set("response-content-type", "text/html")),
  ];
  for (const url of [link, ...changed]) {
    const answer = await fetch(url);
    expect([url.href, answer.status]).toEqual([url.href, url === link ? 200 : 403]);
    await answer.body?.cancel();
  }
});

test("S1 nobody else gets a link, and a deleted picture has none", async () => {
  const id = await addPicture();
  const stranger = await openOwner(opened.services, "stranger@example.com");
  const headers = { authorization: `Bearer ${stranger.apiKey}` };
  expect((await ask(`${id}/file`, { headers })).status).toBe(404);
  expect((await ask(id, { method: "DELETE" })).status).toBe(204);
  expect((await ask(`${id}/file`)).status).toBe(404);
});

test("a copy that is still right needs no link, and HEAD tells of the file itself", async () => {
  const id = await addPicture();
  const head = await ask(`${id}/file`, { method: "HEAD" });
  expect(head.status).toBe(200);
  const again = await ask(`${id}/file`, { headers: { "if-none-match": head.headers.get("etag") ?? "" } });
  expect(again.status).toBe(304);
});

test("A7 the result of an ephemeral job goes through the studio, which notes that it was read", async () => {
  const { db } = opened.services;
  const id = await addPicture();
  const [template] = await db.select().from(jobs).where(eq(jobs.id, owner.jobId));
  if (!template) throw new Error("the owner has no job");
  const jobId = crypto.randomUUID();
  const ended = { status: "completed", retention: "ephemeral", endedAt: new Date() } as const;
  await db.insert(jobs).values({ ...template, ...ended, id: jobId });
  await db.insert(jobOutputs).values({ jobId, position: 0, imageId: id });
  await linkOf(`${id}/file?variant=thumbnail`);
  const readAnswered = async () =>
    (await db.select({ at: jobs.answeredAt }).from(jobs).where(eq(jobs.id, jobId)))[0]?.at ?? null;
  expect(await readAnswered()).toBeNull();
  const file = await ask(`${id}/file`);
  expect(file.status).toBe(200);
  expect((await file.arrayBuffer()).byteLength).toBeGreaterThan(1_000);
  await expect.poll(readAnswered, { timeout: 20_000 }).not.toBeNull();
});

test("a picture with its settings comes from the studio, since the bucket's file has none", async () => {
  const { db } = opened.services;
  const id = await addPicture("chelsea.png");
  await db
    .update(jobs)
    .set({ params: { prompt: "a hill" } })
    .where(eq(jobs.id, owner.jobId));
  await db.update(schema.images).set({ jobId: owner.jobId }).where(eq(schema.images.id, id));
  const file = await ask(`${id}/file?settings=true`);
  expect(file.status).toBe(200);
  expect(Buffer.from(await file.arrayBuffer()).includes("a hill")).toBe(true);
  await linkOf(`${id}/file`);
});

test("a picture that is made anew comes from the studio, not by a link", async () => {
  const id = await addPicture();
  const { width } = await sharp(await readSample("coffee.png")).metadata();
  for (const format of ["png", "jpeg", "webp"] as const) {
    const answer = await ask(`${id}/file?format=${format}`);
    expect(answer.status).toBe(200);
    const made = await sharp(Buffer.from(await answer.arrayBuffer())).metadata();
    expect(made).toMatchObject({ format, width });
  }
});
