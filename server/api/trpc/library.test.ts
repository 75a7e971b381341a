import { addNode } from "@atelier/testing/jobs";
import {
  createTestServices,
  openAdmin,
  openOwner,
  testOrigin,
  type TestOwner,
  type TestServices,
} from "@atelier/testing/services";
import superjson from "superjson";
import { afterAll, beforeAll, expect, test } from "vitest";
import { resolveCaller, setAdminFactor } from "../../accounts/index.ts";
import { schema } from "../../db/index.ts";
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

test.each([
  ["en", "Sent to Google, $0.067 a picture."],
  ["de", "Geht an Google, 0,067\u00A0$ pro Bild."],
])("where a model of a provider sends pictures and what that costs is said in %s", async (locale, told) => {
  await addNode(opened.services, {
    queue: "cloud",
    needs: ["cloud/nano-banana-edit"],
    providers: ["google"],
  });
  const headers = new Headers([...owner.browser.headers, ["accept-language", locale]]);
  const model = (await listBy(headers)).find(({ name }) => name === "cloud/nano-banana-edit");
  expect(model?.["description"]).toBe(told);
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

test("S1 an admin who lacks a second factor, or a sign-in with it, makes nothing that would have an admin's rights", async () => {
  const { services } = opened;
  const { headers } = await openAdmin(services, "weak@example.com");
  const { userId = "" } = (await resolveCaller(services, headers)) ?? {};
  const call = async (path: string, input: object = {}) => {
    const body = JSON.stringify(superjson.serialize(input));
    const sent = new Headers({ ...Object.fromEntries(headers), "content-type": "application/json" });
    const request = new Request(`${testOrigin}/api/trpc/${path}`, { method: "POST", headers: sent, body });
    return (await handleTrpc(services, request)).status;
  };
  const all = async () => [
    await call("apiKeys.create", { name: "k" }),
    await call("apiKeys.create", { name: "k", rights: ["read"] }),
    await call("apiKeys.setCap", { id: "unknown", cap: null }),
    await call("telegram.createLink"),
  ];
  // The last one: no bot is set up here.
  expect(await all()).toEqual([200, 200, 404, 409]);
  await setAdminFactor(services, { isNeeded: true, adminId: null });
  try {
    expect((await resolveCaller(services, headers))?.adminLack).toBe("factor");
    expect(await all()).toEqual([403, 403, 403, 403]);
    const of = { userId, id: "of-weak", credentialID: "of-weak", publicKey: "k", counter: 0 };
    await services.db.insert(schema.passkeys).values({ ...of, deviceType: "multiDevice", backedUp: true });
    expect((await resolveCaller(services, headers))?.adminLack).toBe("sign_in");
    expect(await all()).toEqual([403, 403, 403, 403]);
  } finally {
    await setAdminFactor(services, { isNeeded: false, adminId: null });
  }
});
