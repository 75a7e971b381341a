import { createServer, type Server } from "node:http";
import { addNode, readJob } from "@atelier/testing/jobs";
import { readSample } from "@atelier/testing/pictures";
import { eq } from "drizzle-orm";
import { afterAll, beforeAll, expect, test } from "vitest";
import { schema } from "../../db/index.ts";
import { type ClientScene, completeJob, drawPng, endJob, openClientScene } from "./fixtures/scene.ts";

let scene: ClientScene;
let pictures: Server;
let origin: string;

beforeAll(async () => {
  const sample = await readSample("coffee.png");
  pictures = createServer((_, response) => response.end(sample));
  await new Promise<void>((resolve) => pictures.listen(0, "127.0.0.1", resolve));
  const host = `127.0.0.1:${(pictures.address() as { port: number }).port}`;
  origin = `http://${host}`;
  scene = await openClientScene(
    { EXISTING_CLIENTS: "0", ALLOWED_PRIVATE_HOSTS: host },
    { config: { cloud: { prices: { "flux-2-pro": 0.05 } } } },
  );
  const needs = [
    "cloud/nano-banana",
    "cloud/nano-banana-edit",
    "cloud/flux-2-pro",
    "cloud/z-image-turbo",
  ] as const;
  await addNode(scene.services, { queue: "cloud", needs, slots: 4 });
});
afterAll(async () => {
  pictures.closeAllConnections();
  await new Promise((resolve) => pictures.close(resolve));
  await scene.close();
});

interface Answer {
  readonly http: number;
  readonly id: string;
  readonly [member: string]: unknown;
}

async function create(body: unknown, headers: Readonly<Record<string, string>> = {}): Promise<Answer> {
  const response = await scene.send("/api/generations/create", {
    method: "POST",
    headers: { "content-type": "application/json", ...headers },
    body: JSON.stringify(body),
  });
  return { ...((await response.json()) as { id: string }), http: response.status };
}

async function read(id: string, key?: string): Promise<Answer> {
  const response = await scene.send(`/api/generations/${id}`, key === undefined ? {} : { key });
  return { ...((await response.json()) as { id: string }), http: response.status };
}

test("E1 a generation is a job of that model, queued at once", async () => {
  const input = { prompt: "a boat", seed: 7, aspect_ratio: "16:9", output_format: "png" };
  const created = await create({ modelId: "flux-2-pro", input });
  expect(created).toEqual({ http: 201, id: created.id, status: "queued" });
  expect(await readJob(scene.services, created.id)).toMatchObject({
    kind: "text_to_image",
    engine: "cloud",
    model: "flux-2-pro",
    ownerId: scene.owner.id,
    params: { prompt: "a boat", seed: 7, width: 1_368, height: 768 },
    metadata: { aspect_ratio: "16:9", output_format: "png" },
  });
});

test("E8 a model whose price no source states needs the operator's price or the most that its user would pay", async () => {
  const bare = { modelId: "z-image-turbo", input: { prompt: "a boat" } };
  const refused = await create(bare);
  expect(refused).toMatchObject({ http: 409, code: "not_agreed", cloud: { priceUsd: null } });
  expect(refused.detail).toMatch(/at a price that is not known now. Nothing was started. Name the most/);
  const agreed = { maxPriceUsd: 0.2, unknownPrice: true };
  expect(await create({ ...bare, agreed })).toMatchObject({ http: 201, status: "queued" });
});

test("E1 pictures are addresses or ids, under the names of providers", async () => {
  const url = `${origin}/coffee.png`;
  for (const pictures of [
    { image_url: url },
    { image_urls: [url, url] },
    { inputImage: url },
    { image: url },
  ]) {
    const { id, http } = await create({
      modelId: "nano-banana-edit",
      input: { prompt: "at night", ...pictures },
    });
    expect({ pictures, http }).toEqual({ pictures, http: 201 });
    const links = await scene.services.db
      .select({ role: schema.jobInputs.role })
      .from(schema.jobInputs)
      .where(eq(schema.jobInputs.jobId, id));
    const roles = "image_urls" in pictures ? ["image", "reference"] : ["image"];
    expect(links.map(({ role }) => role).toSorted()).toEqual(roles);
  }
  const refused = { prompt: "at night", image_url: "http://169.254.169.254/latest/" };
  expect(await create({ modelId: "nano-banana-edit", input: refused })).toMatchObject({
    http: 422,
    code: "url_refused",
  });
});

test("E1 a wrong request names what is wrong, and a repeated one makes no second job", async () => {
  const input = { prompt: "a boat" };
  expect(await create({ modelId: "unknown", input })).toMatchObject({ http: 422, code: "model_unknown" });
  for (const body of [
    { input },
    { modelId: "nano-banana" },
    { modelId: "nano-banana", input: [] },
    { modelId: "nano-banana", input: {} },
  ])
    expect(await create(body)).toMatchObject({ http: 400, code: "bad_request" });
  const key = { "idempotency-key": "one" };
  const first = await create({ modelId: "nano-banana", input }, key);
  expect(await create({ modelId: "nano-banana", input }, key)).toEqual(first);
  const other = await create({ modelId: "nano-banana", input: { prompt: "a car" } }, key);
  expect(other).toMatchObject({ http: 409, code: "idempotency_mismatch" });
});

test("E1 a generation is read by its owner until and after its end", async () => {
  const { id } = await create({ modelId: "nano-banana", input: { prompt: "a boat" } });
  expect(await read(id)).toMatchObject({
    http: 200,
    id,
    modelId: "nano-banana",
    status: "queued",
    images: [],
  });
  expect(await read(id, scene.stranger.key)).toMatchObject({ http: 404, code: "not_found" });
  const imageId = await completeJob(scene, id, await drawPng("navy"));
  const images = [{ id: imageId, url: `/api/v1/images/${imageId}/file?variant=original` }];
  for (let reads = 0; reads < 2; reads += 1)
    expect(await read(id)).toMatchObject({ http: 200, status: "completed", images, error: null });
  const failed = await create({ modelId: "nano-banana", input: { prompt: "a boat" } });
  await endJob(scene.services, failed.id, "failed");
  expect(await read(failed.id)).toMatchObject({
    status: "failed",
    error: { code: "engine_failed", message: "The engine gave up." },
  });
  expect(await read("nonsense")).toMatchObject({ http: 404 });
});
