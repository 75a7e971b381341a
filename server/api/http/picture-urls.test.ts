import { createServer, type Server } from "node:http";
import { gzipSync } from "node:zlib";
import { addNode, readJob } from "@atelier/testing/jobs";
import { listObjects, readSample } from "@atelier/testing/pictures";
import {
  createTestServices,
  openOwner,
  testOrigin,
  type TestOwner,
  type TestServices,
} from "@atelier/testing/services";
import { eq } from "drizzle-orm";
import sharp from "sharp";
import superjson from "superjson";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { schema } from "../../db/index.ts";
import { ingest } from "../../images/index.ts";
import { ack, cancel } from "../../jobs/index.ts";
import { createHttpApp, handleTrpc } from "../index.ts";

/** What the server of the pictures answers at each path; null: nothing, until it is released. */
const pictures = new Map<string, Buffer | null>();
const held: (() => void)[] = [];
let asked: string[] = [];
let server: Server;
let origin: string;
let fixture: TestServices;
let owner: TestOwner;
let other: TestOwner;

beforeAll(async () => {
  server = createServer((request, response) => {
    const path = request.url ?? "";
    asked.push(path);
    const picture = pictures.get(path);
    if (picture) return response.end(picture);
    if (picture === null) return void held.push(() => response.writeHead(404).end());
    if (path === "/elsewhere") return response.writeHead(302, { location: "http://10.0.0.1/a.png" }).end();
    return response.writeHead(404).end();
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const host = `127.0.0.1:${(server.address() as { port: number }).port}`;
  origin = `http://${host}`;
  fixture = await createTestServices({ env: { ALLOWED_PRIVATE_HOSTS: `nas.lan,${host}` } });
  owner = await openOwner(fixture.services, "owner@example.com");
  other = await openOwner(fixture.services, "other@example.com");
  await addNode(fixture.services);
  pictures.set("/coffee.png?size=1", await readSample("coffee.png"));
  pictures.set("/text", Buffer.from("no picture"));
  pictures.set("/large", Buffer.alloc(26 * 1_048_576));
  pictures.set("/packed", gzipSync(await readSample("coffee.png")));
  pictures.set("/never", null);
});
afterAll(async () => {
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
  await fixture.close();
});
beforeEach(() => {
  asked = [];
});

interface PostOptions {
  readonly key?: string;
  readonly as?: TestOwner;
  readonly signal?: AbortSignal;
}

async function post(inputs: unknown, { key, as = owner, signal }: PostOptions = {}, more: object = {}) {
  const response = await createHttpApp(fixture.services).fetch(
    new Request(`${testOrigin}/api/v1/jobs`, {
      method: "POST",
      headers: {
        authorization: `Bearer ${as.apiKey}`,
        "content-type": "application/json",
        ...(key ? { "idempotency-key": key } : {}),
      },
      body: JSON.stringify({ kind: "upscale", inputs, ...more }),
      ...(signal ? { signal } : {}),
    }),
  );
  const body = (await response.json()) as { id: string; code?: string; detail?: string };
  return { ...body, status: response.status };
}

const imagesOf = ({ caller }: TestOwner) =>
  fixture.services.db.select().from(schema.images).where(eq(schema.images.ownerId, caller.userId));

const inputOf = async (jobId: string) => {
  const { jobInputs } = schema;
  const [link] = await fixture.services.db.select().from(jobInputs).where(eq(jobInputs.jobId, jobId));
  return link?.imageId;
};

test("A4 a picture at an address is stored like an upload, once for the same bytes", async () => {
  const image = { url: `${origin}/coffee.png?size=1` };
  const first = await post({ image });
  expect(first).toMatchObject({ status: 202 });
  expect(await readJob(fixture.services, first.id)).toMatchObject({ kind: "upscale" });
  const stored = (await imagesOf(owner)).find(({ title }) => title === "coffee");
  expect(stored).toMatchObject({ role: "upload", mime: "image/png" });
  expect(await inputOf(first.id)).toBe(stored?.id);
  const second = await post({ image });
  expect(await inputOf(second.id)).toBe(stored?.id);
});

test("A4 a repeated request with the same addresses is the same one and fetches nothing", async () => {
  pictures.set("/changing", await readSample("coffee.png"));
  const inputs = { image: { url: `${origin}/changing` } };
  const first = await post(inputs, { key: "one" });
  expect(first.status).toBe(202);
  pictures.set("/changing", await readSample("chelsea.png"));
  expect(await post(inputs, { key: "one" })).toMatchObject({ status: 202, id: first.id });
  expect(asked).toEqual(["/changing"]);
  expect(await post({ image: { url: `${origin}/other` } }, { key: "one" })).toMatchObject({
    status: 409,
    code: "idempotency_mismatch",
  });
  const both = await Promise.all([post(inputs, { key: "two" }), post(inputs, { key: "two" })]);
  expect(both.map(({ status, id }) => [status, id])).toEqual([
    [202, both[0]?.id],
    [202, both[0]?.id],
  ]);
});

test("A8 a picture of the gallery stays when an ephemeral job fetched the same bytes", async () => {
  const { services } = fixture;
  const caller = { ownerId: owner.caller.userId, signal: new AbortController().signal };
  const bytes = await sharp({ create: { width: 9, height: 9, channels: 3, background: "teal" } })
    .png()
    .toBuffer();
  pictures.set("/dress.png", bytes);
  const own = await ingest(services, { ...caller, role: "upload", bytes, name: "mine.png" });
  const before = (await imagesOf(owner)).length;
  const inputs = { image: { url: `${origin}/dress.png` } };
  const ephemeral = { retention: "ephemeral" };
  const both = await Promise.all([
    post(inputs, { key: "dress" }, ephemeral),
    post(inputs, { key: "dress" }, ephemeral),
  ]);
  expect(both[0]).toMatchObject({ status: 202, id: both[1]?.id });
  // Of two at once the picture of the one whose job is not stored is gone.
  expect(await imagesOf(owner)).toHaveLength(before + 1);
  const batch = await createHttpApp(services).fetch(
    new Request(`${testOrigin}/api/v1/batches`, {
      method: "POST",
      headers: { authorization: `Bearer ${owner.apiKey}`, "content-type": "application/json" },
      body: JSON.stringify({ jobs: [ephemeral, {}].map((one) => ({ kind: "upscale", inputs, ...one })) }),
    }),
  );
  expect(batch.status).toBe(202);
  const { jobs } = schema;
  const ids = await services.db.select({ id: jobs.id }).from(jobs).where(eq(jobs.retention, "ephemeral"));
  expect(ids).toHaveLength(2);
  for (const { id } of ids) {
    expect(await inputOf(id)).not.toBe(own.id);
    await cancel(services, { ...caller, id });
    await ack(services, { ...caller, id });
  }
  // The kept job of the batch has the picture that was there.
  expect(await imagesOf(owner)).toHaveLength(before);
  expect(await services.db.$count(schema.images, eq(schema.images.id, own.id))).toBe(1);
});

test("S4 an address that must not be fetched is refused, also after a redirect", async () => {
  const refused = [
    "http://169.254.169.254/latest/meta-data/",
    "https://127.0.0.1/",
    "https://localhost:8443/a.png",
    "http://example.com/a.png",
    "file:///etc/passwd",
    "data:image/png;base64,AAAA",
    "not an address",
    `${origin}/elsewhere`,
    `http://127.0.0.1:1/`,
  ];
  for (const url of refused) {
    const answer = await post({ image: { url } });
    expect({ url, ...answer }).toMatchObject({ url, status: 422, code: "url_refused" });
    expect(answer.detail).toContain('"image"');
  }
  expect(asked).toEqual(["/elsewhere"]);
});

test("A4 what cannot be fetched, or is no picture, has an error that names it", async () => {
  const cases = [
    ["/missing", 422, "url_unreachable"],
    ["/text", 415, "upload_unsupported"],
    ["/large", 413, "url_too_large"],
    ["/packed", 415, "upload_unsupported"],
  ] as const;
  for (const [path, status, code] of cases) {
    const answer = await post({ image: { url: `${origin}${path}` } });
    expect({ path, ...answer }).toMatchObject({ path, status, code });
    expect(answer.detail).toContain('"image"');
  }
});

test("A4 nothing is fetched for a request that is wrong, and nothing is kept of one that is refused", async () => {
  const image = { url: `${origin}/coffee.png?size=1` };
  const params = { params: { scale: 3 } };
  for (const inputs of [
    { image: { url: "" } },
    { image: { url: image.url, id: 1 } },
    { image, mask: image },
    {},
  ])
    expect(await post(inputs)).toMatchObject({ status: 400, code: "bad_request" });
  expect(await post({ image }, {}, params)).toMatchObject({ status: 400, code: "bad_request" });
  expect(asked).toEqual([]);
  const before = await imagesOf(other);
  const objects = await listObjects(fixture.services);
  const refused = await post({ image }, { as: other }, { workflow: "unknown" });
  expect(refused).toMatchObject({ status: 422, code: "workflow_unknown" });
  expect(asked).toHaveLength(1);
  expect(await imagesOf(other)).toEqual(before);
  expect(await listObjects(fixture.services)).toEqual(objects);
});

test("S4 a user has few fetches at once, and a client that leaves ends its own", async () => {
  const controller = new AbortController();
  const image = { url: `${origin}/never` };
  const open = [1, 2].map(() => post({ image }, { signal: controller.signal }).catch(() => null));
  await expect.poll(() => held.length).toBe(2);
  expect(await post({ image })).toMatchObject({ status: 429, code: "rate_limited" });
  const elsewhere = { url: `${origin}/coffee.png?size=1` };
  expect(await post({ image: elsewhere }, { as: other })).toMatchObject({ status: 202 });
  controller.abort();
  await Promise.all(open);
  await expect.poll(async () => (await post({ image: elsewhere })).status).toBe(202);
});

test("a batch fetches each of its pictures once, and leaves none of them when it is refused", async () => {
  const url = `${origin}/batch.png`;
  pictures.set("/batch.png", await readSample("coffee.png"));
  const before = (await imagesOf(other)).length;
  const axes = [
    { param: "inputs.image", values: [url] },
    { param: "seed", values: [1, 2, 3] },
  ];
  const send = async (body: object, key: string) => {
    const response = await createHttpApp(fixture.services).fetch(
      new Request(`${testOrigin}/api/v1/batches`, {
        method: "POST",
        headers: {
          authorization: `Bearer ${other.apiKey}`,
          "content-type": "application/json",
          "idempotency-key": key,
        },
        body: JSON.stringify(body),
      }),
    );
    return { status: response.status, body: (await response.json()) as { id: string; jobIds: string[] } };
  };
  const missing = {
    jobs: [
      { kind: "upscale", inputs: { image: { url } } },
      { kind: "upscale", inputs: {} },
    ],
  };
  expect((await send(missing, "refused")).status).toBe(400);
  expect(await imagesOf(other)).toHaveLength(before);
  asked = [];
  const sent = await send({ base: { kind: "upscale" }, axes }, "once");
  expect(sent.status).toBe(202);
  expect(asked).toEqual(["/batch.png"]);
  const inputs = await Promise.all(sent.body.jobIds.map(inputOf));
  expect(new Set(inputs).size).toBe(1);
  expect(await send({ base: { kind: "upscale" }, axes }, "once")).toEqual(sent);
  expect(asked).toHaveLength(1);
  const [stored] = await fixture.services.db
    .select()
    .from(schema.batches)
    .where(eq(schema.batches.id, sent.body.id));
  expect(stored?.axes?.[0]?.values).toEqual([inputs[0]]);
});

test("A15 C1 a picture of an address comes in for the wardrobe, and what may not be fetched is told", async () => {
  const call = async (url: string) => {
    const answer = await handleTrpc(
      fixture.services,
      new Request(`${testOrigin}/api/trpc/wardrobe.importPicture`, {
        method: "POST",
        headers: { authorization: `Bearer ${owner.apiKey}`, "content-type": "application/json" },
        body: superjson.stringify({ url, what: "garment" }),
      }),
    );
    const body = await answer.json();
    return {
      status: answer.status,
      code: body.error?.json.data.appCode,
      image: body.result?.data.json.imageId,
    };
  };
  const { status, image } = await call(`${origin}/coffee.png?size=1`);
  expect(status).toBe(200);
  const { images } = schema;
  const rows = await fixture.services.db.select().from(images).where(eq(images.id, image));
  expect(rows).toMatchObject([{ ownerId: owner.caller.userId, role: "upload" }]);
  expect(await call("http://10.0.0.1/a.png")).toMatchObject({ status: 422, code: "url_refused" });
  expect(await call(`${origin}/elsewhere`)).toMatchObject({ code: "url_refused" });
  expect(await call(`${origin}/nowhere`)).toMatchObject({ code: "url_unreachable" });
  expect(await call(`${origin}/large`)).toMatchObject({ code: "url_too_large" });
  expect(await call(`${origin}/text`)).toMatchObject({ code: "upload_unsupported" });
});
