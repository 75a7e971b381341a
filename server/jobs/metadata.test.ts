import { buffer } from "node:stream/consumers";
import { inflateRawSync } from "node:zlib";
import { eq } from "drizzle-orm";
import superjson from "superjson";
import { afterAll, beforeAll, expect, test } from "vitest";
import { addNode, readJob } from "@atelier/testing/jobs";
import {
  createTestServices,
  openAdmin,
  openOwner,
  testOrigin,
  type TestOwner,
  type TestServices,
} from "@atelier/testing/services";
import { createHttpApp, handleTrpc } from "../api/index.ts";
import { schema } from "../db/index.ts";
import { openBundle } from "./bundle.ts";
import { cancel } from "./cancel.ts";
import { retry } from "./retry.ts";

let opened: TestServices;
let owner: TestOwner;
let admin: TestOwner;

beforeAll(async () => {
  opened = await createTestServices();
  const { services } = opened;
  owner = await openOwner(services, "owner@example.com");
  admin = await openOwner(services, "admin@example.com", openAdmin);
  await addNode(services);
});
afterAll(() => opened.close());

const metadata = { order: { number: 4711, tags: ["blue", "größe"] } };
const marks = { maxRetries: 1, sessionId: "session of today", metadata };

async function send(path: string, body?: unknown): Promise<Response> {
  const request = new Request(`${testOrigin}/api/v1${path}`, {
    method: body === undefined ? "GET" : "POST",
    headers: { authorization: `Bearer ${owner.apiKey}`, "content-type": "application/json" },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  return createHttpApp(opened.services).fetch(request);
}

const requestOf = (extra: object) => ({ kind: "upscale", inputs: { image: owner.imageId }, ...extra });

async function submitOver(extra: object): Promise<string> {
  const response = await send("/jobs", requestOf(extra));
  expect(response.status).toBe(202);
  const { id } = (await response.json()) as { id: string };
  return id;
}

async function call(as: TestOwner, procedure: string, input: object, method = "POST") {
  const url = new URL(`${testOrigin}/api/trpc/${procedure}`);
  if (method === "GET") url.searchParams.set("input", superjson.stringify(input));
  const response = await handleTrpc(
    opened.services,
    new Request(url, {
      method,
      headers: { ...Object.fromEntries(as.browser.headers), "content-type": "application/json" },
      ...(method === "GET" ? {} : { body: superjson.stringify(input) }),
    }),
  );
  const body = (await response.json()) as { result?: { data: { json: Record<string, unknown> } } };
  return { status: response.status, data: body.result?.data.json ?? {} };
}

test("D12 tries, session and metadata of a job are found again over HTTP, alone and in lists", async () => {
  const id = await submitOver(marks);
  expect(await (await send(`/jobs/${id}`)).json()).toMatchObject({ id, ...marks });
  const other = await submitOver({ sessionId: "another" });
  const page = await (await send(`/jobs?sessionId=${encodeURIComponent(marks.sessionId)}`)).json();
  expect(page).toMatchObject({ items: [{ id, ...marks }], nextCursor: null });
  const bare = { maxRetries: null, sessionId: "another", metadata: {} };
  expect(await (await send(`/jobs/${other}`)).json()).toMatchObject(bare);
});

test("D12 the same over tRPC, and in the bundle", async () => {
  const { status, data } = await call(owner, "jobs.submit", requestOf(marks));
  expect(status).toBe(200);
  const id = String(data.id);
  expect((await call(owner, "jobs.get", { id }, "GET")).data).toMatchObject({ id, ...marks });
  const zip = await buffer(await openBundle(opened.services, { ownerId: owner.caller.userId, id }));
  expect(readFirstEntry(zip)).toMatchObject({ id, ...marks });
});

test("D12 a bundle has no picture that was deleted, and names what is missing", async () => {
  const { imageId, caller } = owner;
  const id = await submitOver(marks);
  const { db } = opened.services;
  const bundle = async () => buffer(await openBundle(opened.services, { ownerId: caller.userId, id }));
  expect(readFirstEntry(await bundle())).toMatchObject({ id, missing: [] });
  expect((await bundle()).includes("inputs/image.")).toBe(true);
  await db.update(schema.images).set({ deletedAt: new Date() }).where(eq(schema.images.id, imageId));
  try {
    expect(readFirstEntry(await bundle())).toMatchObject({ id, missing: ["inputs/image"] });
    expect((await bundle()).includes("inputs/image.")).toBe(false);
  } finally {
    await db.update(schema.images).set({ deletedAt: null }).where(eq(schema.images.id, imageId));
  }
});

test("D12 results keep their numbers in a bundle when one of them is gone for good", async () => {
  const id = await submitOver(marks);
  const { db } = opened.services;
  await db
    .insert(schema.jobOutputs)
    .values([1, 3].map((position) => ({ jobId: id, position, imageId: owner.imageId })));
  const bundle = await buffer(await openBundle(opened.services, { ownerId: owner.caller.userId, id }));
  expect(readFirstEntry(bundle)).toMatchObject({ missing: ["outputs/1", "outputs/3"] });
  const isIn = ["1", "2", "3", "4"].filter((number) => bundle.includes(`outputs/${number}.`));
  expect(isIn).toEqual(["2", "4"]);
});

/** The first entry of a zip, which is `job.json`. */
function readFirstEntry(zip: Buffer): unknown {
  const directoryAt = zip.readUInt32LE(zip.length - 6);
  const sizeBytes = zip.readUInt32LE(directoryAt + 20);
  const headerAt = zip.readUInt32LE(directoryAt + 42);
  const nameBytes = zip.readUInt16LE(headerAt + 26);
  const at = headerAt + 30 + nameBytes + zip.readUInt16LE(headerAt + 28);
  return JSON.parse(inflateRawSync(zip.subarray(at, at + sizeBytes)).toString("utf8"));
}

test("D12 an admin finds jobs by their session, and by words of their metadata", async () => {
  const id = await submitOver({
    sessionId: "e1b2c3d4-0000-4000-8000-000000000000",
    metadata: { for: "Zoë" },
  });
  const find = async (input: object) => {
    const { data } = await call(admin, "admin.jobs.search", input, "GET");
    return (data.items as { id: string }[]).map((job) => job.id);
  };
  expect(await find({ session: "e1b2c3d4-0000-4000-8000-000000000000" })).toEqual([id]);
  expect(await find({ session: "e1b2c3d4" })).toEqual([]);
  expect(await find({ text: "zoë" })).toEqual([id]);
  expect((await call(admin, "admin.jobs.story", { id }, "GET")).data).toMatchObject({
    metadata: { for: "Zoë" },
  });
});

test("D12 more retries than the configuration allows are stored as what it allows", async () => {
  const id = await submitOver({ maxRetries: 50 });
  const { maxCharged } = opened.services.config.limits;
  expect((await readJob(opened.services, id)).maxRetries).toBe(maxCharged - 1);
});

test("D12 a job that runs again keeps them; one without has none", async () => {
  const { services } = opened;
  const { userId: ownerId } = owner.caller;
  for (const extra of [marks, {}]) {
    const id = await submitOver(extra);
    await cancel(services, { ownerId, id });
    const again = await retry(services, { submitter: owner.caller, id });
    const { maxRetries, sessionId, metadata: kept } = await readJob(services, again.id);
    const none = { maxRetries: null, sessionId: null, metadata: null };
    expect({ maxRetries, sessionId, metadata: kept }).toEqual({ ...none, ...extra });
  }
});

test.each([
  ["metadata above 8 kB", { metadata: { a: "x".repeat(8_192) } }, "metadata"],
  ["metadata that is no object", { metadata: [1] }, "metadata"],
  ["NUL in metadata", { metadata: { a: "b\0" } }, "metadata"],
  ["a session id with a line break", { sessionId: "a\nb" }, "sessionId"],
  ["a session id above 200 characters", { sessionId: "x".repeat(201) }, "sessionId"],
  ["a negative number of retries", { maxRetries: -1 }, "maxRetries"],
  ["half a retry", { maxRetries: 0.5 }, "maxRetries"],
])("D12 %s is refused by name, and nothing is stored", async (_what, extra, path) => {
  const { jobs } = schema;
  const count = () => opened.services.db.$count(jobs, eq(jobs.ownerId, owner.caller.userId));
  const before = await count();
  const response = await send("/jobs", requestOf(extra));
  expect(response.status).toBe(400);
  expect(await response.json()).toMatchObject({ code: "bad_request", errors: [{ path }] });
  expect((await call(owner, "jobs.submit", requestOf(extra))).status).toBe(400);
  expect(await count()).toBe(before);
});

test("D12 the description of the HTTP API names them", async () => {
  const document = JSON.stringify(await (await send("/openapi.json")).json());
  for (const name of ["maxRetries", "sessionId", "metadata"]) expect(document).toContain(`"${name}":{`);
});
