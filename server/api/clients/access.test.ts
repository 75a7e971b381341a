import { eq } from "drizzle-orm";
import type { Hono } from "hono";
import { afterAll, beforeAll, expect, test } from "vitest";
import { testOrigin } from "@atelier/testing/services";
import { createApiKey, revokeApiKey } from "../../accounts/index.ts";
import { schema } from "../../db/index.ts";
import { createHttpApp } from "../index.ts";
import { clientMounts, createClientsApp } from "./app.ts";
import { iopaintApi } from "./iopaint.ts";
import { type ClientScene, openClientScene } from "./fixtures/scene.ts";

/** Each route under each of its prefixes, in the app of the clients and in that of /api/v1. */
const served = [...clientMounts, { api: iopaintApi, prefix: "/api/v1" }].flatMap(({ api, prefix }) =>
  api.routes.map((route) => ({ api, route, path: `${prefix}${route.path}` })),
);
const named = served.map((each) => ({ ...each, name: `${each.route.method} ${each.path}` }));
const addressOf = (path: string) => path.replace(/:\w+\{[^}]+\}/, "u/a.png").replace(/:\w+/, "u");

let scene: ClientScene;
let closed: ClientScene;
/** Without credentials, with wrong ones, and with those that are no longer good. */
let refused: Headers[];

const basic = (user: string, password: string) =>
  `Basic ${Buffer.from(`${user}:${password}`).toString("base64")}`;

beforeAll(async () => {
  scene = await openClientScene();
  closed = await openClientScene({ EXISTING_CLIENTS: "0" });
  const { services, owner, session } = scene;
  const { apiKeys, users } = schema;
  const gone = await createApiKey(services, { userId: owner.id, name: "revoked" });
  await revokeApiKey(services, { userId: owner.id, id: gone.id });
  const expired = await createApiKey(services, { userId: owner.id, name: "expired" });
  await services.db
    .update(apiKeys)
    .set({ expiresAt: new Date(0) })
    .where(eq(apiKeys.id, expired.id));
  await services.db.update(users).set({ banned: true }).where(eq(users.id, scene.stranger.id));
  const keys = [gone.key, expired.key, scene.stranger.key, "nonsense", ""];
  const values = [...keys.map((key) => `Bearer ${key}`), ...keys.map((key) => basic("key", key))];
  values.push("Basic !", basic("owner@example.com", "correct horse battery"), `Token ${owner.key}`);
  refused = [new Headers(), session, ...values.map((authorization) => new Headers({ authorization }))];
});
afterAll(async () => {
  await scene.close();
  await closed.close();
});

async function call(app: Hono, { method, path }: { method: string; path: string }, headers: Headers) {
  const all = new Headers(headers);
  all.set("x-request-id", "same");
  const request = new Request(`${testOrigin}${addressOf(path)}`, {
    method: method.toUpperCase(),
    headers: all,
  });
  const response = await (path.startsWith("/api/v1") ? createHttpApp(scene.services) : app).fetch(request);
  return { status: response.status, body: await response.text(), headers: response.headers };
}

test("S1 nothing is served beside the tables", () => {
  const routes = scene.app.routes
    .filter(({ method }) => method !== "ALL")
    .map(({ method, path }) => `${method.toLowerCase()} ${path}`);
  const own = named.filter(({ path }) => !path.startsWith("/api/v1")).map(({ name }) => name);
  const open = clientMounts.flatMap(({ api, prefix }) =>
    (api.openRoutes ?? []).map(({ method, path }) => `${method} ${prefix}${path}`),
  );
  // Addresses that are secrets by themselves.
  expect(open).toEqual(["get /v1/images/files/:signed"]);
  expect(routes.toSorted()).toEqual([...own, ...open].toSorted());
  const distinct = new Set(clientMounts.flatMap(({ api }) => [...api.routes, ...(api.openRoutes ?? [])]));
  const ids = [...distinct].map(({ operationId }) => operationId);
  expect(new Set(ids).size).toBe(ids.length);
});

test.each(named)("S1 $name refuses callers without a valid key, also a session", async ({ route, path }) => {
  const methods = route.method === "get" ? ["get", "head"] : ["post"];
  for (const method of methods)
    for (const headers of refused) {
      const answer = await call(scene.app, { method, path }, headers);
      expect([answer.status, answer.headers.get("www-authenticate")]).toEqual([401, 'Basic realm="Atelier"']);
    }
});

test.each(named)("S1 $name refuses a key without the right that it needs", async ({ route, path }) => {
  const { services, owner } = scene;
  const needs = route.right ?? (route.method === "get" ? "read" : "create");
  const lacks = needs === "read" ? "create" : "read";
  const { id, key } = await createApiKey(services, { userId: owner.id, name: lacks, rights: [lacks] });
  for (const authorization of [`Bearer ${key}`, basic("any", key)]) {
    const answer = await call(scene.app, { method: route.method, path }, new Headers({ authorization }));
    expect(answer.status).toBe(403);
  }
  await revokeApiKey(services, { userId: owner.id, id });
});

test.each(named)(
  "S1 $name takes a key as Bearer, as a Basic password and as a Basic user",
  async ({ route, path }) => {
    const { key } = scene.owner;
    for (const value of [`Bearer ${key}`, basic("any", key), basic(key, "")]) {
      const answer = await call(
        scene.app,
        { method: route.method, path },
        new Headers({ authorization: value }),
      );
      expect(answer.status).not.toBe(401);
    }
  },
);

test.each(named)(
  "S1 $name refuses a page of another site that a browser sends the password for",
  async ({ route, path }) => {
    const authorization = basic("key", scene.owner.key);
    for (const [name, value] of [
      ["origin", "https://evil.example"],
      ["sec-fetch-site", "cross-site"],
      ["user-agent", "Mozilla/5.0 (over plain http it says nothing of the page)"],
    ] as const) {
      const headers = new Headers({ authorization, [name]: value });
      expect((await call(scene.app, { method: route.method, path }, headers)).status).toBe(403);
    }
  },
);

test.each(named.filter(({ api }) => api.isSwitched))(
  "A16 $name is 404 unless EXISTING_CLIENTS is on, with and without a key",
  async ({ route, path }) => {
    const app = createClientsApp(closed.services);
    for (const headers of [new Headers(), new Headers({ authorization: `Bearer ${closed.owner.key}` })])
      expect((await call(app, { method: route.method, path }, headers)).status).toBe(404);
  },
);
