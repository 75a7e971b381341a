import { addNode } from "@atelier/testing/jobs";
import {
  createTestServices,
  openOwner,
  testOrigin,
  type TestOwner,
  type TestServices,
} from "@atelier/testing/services";
import superjson from "superjson";
import { afterAll, beforeAll, expect, test } from "vitest";
import { changeNode, type SeenServer } from "../../nodes/index.ts";
import { createHttpApp, handleTrpc } from "../index.ts";

let opened: TestServices;
let owner: TestOwner;
const missing = ["model sd15 (Checkpoint.name)"];

beforeAll(async () => {
  opened = await createTestServices();
  const { services } = opened;
  owner = await openOwner(services, "owner@example.com");
  const server: SeenServer = {
    url: "http://a:1",
    engine: "comfyui",
    label: "a:1",
    state: "healthy",
    needs: [],
    missing: { t2i_sd15: missing },
    sources: ["test"],
  };
  await changeNode(services, {
    nodeId: await addNode(services),
    servers: [server],
  });
});
afterAll(() => opened.close());

type Item = Readonly<Record<string, unknown>>;
const lightOf = (items: readonly Item[]) => items.find(({ name }) => name === "t2i_sd15");

async function listBy(headers: Headers) {
  const request = new Request(`${testOrigin}/api/trpc/workflows.list`, { headers });
  const body = (await (await handleTrpc(opened.services, request)).json()) as { result: { data: never } };
  return superjson.deserialize<{ items: Item[] }>(body.result.data).items;
}

test("S1 what servers lack is told to people with a session alone", async () => {
  expect(lightOf(await listBy(owner.browser.headers))).toMatchObject({ missing });
  const items = await listBy(new Headers());
  expect(lightOf(items)).toMatchObject({ isLive: false, missing: [] });
  expect(JSON.stringify(items)).not.toContain("Checkpoint.name");
});

test("the HTTP API answers the fields of a workflow that it declares", async () => {
  const headers = { authorization: `Bearer ${owner.apiKey}` };
  const app = createHttpApp(opened.services);
  const ask = (path: string) => app.fetch(new Request(`${testOrigin}/api/v1${path}`, { headers }));
  const { items } = (await (await ask("/workflows")).json()) as { items: Item[] };
  const document = JSON.stringify(await (await ask("/openapi.json")).json());
  expect(lightOf(items)).toMatchObject({ vramGib: 4, missing, isLive: false });
  for (const field of Object.keys(items[0] ?? {})) expect(document).toContain(`"${field}":`);
  expect(items[0]).not.toHaveProperty("rank");
});
