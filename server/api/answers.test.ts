import { openTestBrowser, testOrigin } from "@atelier/testing/services";
import { afterAll, beforeAll, expect, test } from "vitest";
import { servedAuthPaths } from "../accounts/index.ts";
import { AppError, errorRules, type ErrorCode, refusedMethodHeader } from "../platform/index.ts";
import type { Services } from "../services.ts";
import { clientMounts } from "./clients/app.ts";
import { type ClientScene, openClientScene } from "./clients/fixtures/scene.ts";
import { iopaintApi } from "./clients/iopaint.ts";
import { httpRoutes } from "./http/app.ts";
import {
  forMethods,
  handleAuth,
  handleClients,
  handleHttp,
  handleProviderWebhook,
  handleTrpc,
  healthResponse,
  metricsResponse,
  readyResponse,
} from "./index.ts";

let scene: ClientScene;
beforeAll(async () => {
  scene = await openClientScene();
});
afterAll(() => scene.close());

type Handle = (services: Services, request: Request) => Promise<Response> | Response;

/** The handlers as the files of routes in `app` put them together. */
const handlers: readonly (readonly [RegExp, Handle])[] = [
  [/^\/api\/v1(\/|$)/, handleHttp],
  [/^\/api\/auth\//, handleAuth],
  [/^\/api\/trpc\//, forMethods(["GET", "POST"], handleTrpc)],
  [/^\/api\/webhooks\//, forMethods(["POST"], handleProviderWebhook)],
  [/^\/api\/health$/, forMethods(["GET"], healthResponse)],
  [/^\/api\/ready$/, forMethods(["GET"], readyResponse)],
  [/^\/metrics$/, forMethods(["GET"], metricsResponse)],
  [/^\//, handleClients],
];

async function ask(method: string, path: string, headers: Record<string, string> = {}): Promise<Response> {
  const isHanded = method !== "TRACE" && method !== "PROPFIND";
  const request = new Request(`${testOrigin}${path}`, {
    method: isHanded ? method : "OPTIONS",
    headers: isHanded ? headers : { ...headers, [refusedMethodHeader]: method },
  });
  const handle = handlers.find(([paths]) => paths.test(path))?.[1];
  if (!handle) throw new Error(`nothing answers ${path}`);
  return handle(scene.services, request);
}

/** Every address that is served, with its methods by the tables of the routes. */
function servedAddresses(): Map<string, Set<string>> {
  const found = new Map<string, Set<string>>();
  const add = (path: string, method: string) => {
    const known = found.get(path) ?? new Set();
    found.set(path, known.add(method.toUpperCase()));
  };
  const id = "0199aaaa-0000-7000-8000-000000000000";
  for (const { path, method } of httpRoutes) add(`/api/v1${path.replaceAll(/\{\w+\}/g, id)}`, method);
  for (const { api, prefix } of [...clientMounts, { api: iopaintApi, prefix: "/api/v1" }])
    for (const { path, method } of [...api.routes, ...(api.openRoutes ?? [])])
      add(`${prefix}${path.replace(/:\w+\{[^}]+\}/, "u/a.png").replace(/:\w+/, "u")}`, method);
  for (const [path, methods] of servedAuthPaths)
    for (const method of methods) add(`/api/auth${path}`, method);
  for (const path of ["/api/v1/openapi.json", "/api/v1/docs", "/api/health", "/api/ready", "/metrics"])
    add(path, "get");
  for (const method of ["get", "post"]) add("/api/trpc/jobs.list", method);
  add("/api/webhooks/fal/token", "post");
  // Any text is an id there, so this is a generation as well, and unknown.
  add("/api/generations/create", "get");
  return found;
}

const addresses = [...servedAddresses()].map(([path, methods]) => ({ path, methods }));
const all = ["GET", "POST", "PUT", "PATCH", "DELETE"];

test("every other method on every address is 405 with what the address takes, and OPTIONS says it", async () => {
  expect(addresses.length).toBeGreaterThan(50);
  for (const { path, methods } of addresses) {
    const isAuth = path.startsWith("/api/auth/");
    const error = { code: "method_not_allowed" };
    // Programs of OpenAI's API read its own form alone.
    const told = path.startsWith("/v1/") ? { error } : { ...error, status: 405 };
    const taken = all.filter((method) => methods.has(method));
    const allow = [...taken.flatMap((m) => (m === "GET" && !isAuth ? ["GET", "HEAD"] : [m])), "OPTIONS"];
    const sorted = (response: Response) => response.headers.get("allow")?.split(", ").toSorted();
    for (const method of [...all.filter((each) => !methods.has(each)), "TRACE", "PROPFIND"]) {
      const answer = await ask(method, path);
      expect([method, path, answer.status, sorted(answer)]).toEqual([method, path, 405, allow.toSorted()]);
      expect(await answer.json()).toMatchObject(told);
    }
    const asked = await ask("OPTIONS", path);
    expect([path, asked.status, sorted(asked)]).toEqual([path, 204, allow.toSorted()]);
  }
});

test("every method on an unknown address is 404", async () => {
  const unknown = [
    "/api/v1/nothing",
    "/api/v1/jobs/x/y/z",
    "/api/v1/jobs/nothing",
    "/api/auth/admin/create-user",
    "/api/auth/nothing",
    "/nothing",
    "/api/generations/a/b",
    "/iopaint/nothing",
  ];
  for (const path of unknown)
    for (const method of [...all, "HEAD", "OPTIONS", "TRACE"])
      expect([method, path, (await ask(method, path)).status]).toEqual([method, path, 404]);
});

/** What is the same for all callers and says so. */
const isPublic = (path: string) => path.startsWith("/api/health") || path.startsWith("/api/ready");

test("every answer of every address is for its caller alone: kept by no cache, or by that caller's", async () => {
  const { owner, session } = scene;
  const callers = [{}, { authorization: `Bearer ${owner.key}` }, Object.fromEntries(session)];
  const asked = addresses.flatMap(({ path, methods }) =>
    [...methods].flatMap((method) => callers.map((headers) => ({ path, method, headers }))),
  );
  for (const { path, method, headers } of asked) {
    const answer = await ask(method, path, headers);
    await answer.body?.cancel();
    const kept = answer.headers.get("cache-control") ?? "";
    const vary = answer.headers.get("vary")?.toLowerCase() ?? "";
    const isMarked = isPublic(path) || (vary.includes("cookie") && vary.includes("authorization"));
    expect([method, path, answer.status, kept, isMarked]).toEqual([
      method,
      path,
      answer.status,
      expect.stringMatching(/\bno-store\b|\bprivate\b/),
      true,
    ]);
  }
});

test("answers of an account's sign-in and of tRPC are kept by no cache", async () => {
  const browser = openTestBrowser(scene.services);
  const answers = [
    await ask("GET", "/api/auth/get-session", Object.fromEntries(browser.headers)),
    await ask("GET", "/api/trpc/account.me", Object.fromEntries(scene.session)),
    await ask("GET", "/api/v1/jobs", { authorization: `Bearer ${scene.owner.key}` }),
  ];
  expect(answers.map(({ status }) => status)).toEqual([200, expect.any(Number), 200]);
  for (const { headers } of answers) expect(headers.get("cache-control")).toMatch(/no-store/);
});

/** Services whose database fails with this error. */
function failingWith(code: ErrorCode): Services {
  const db = new Proxy(scene.services.db, {
    get() {
      throw new AppError(code);
    },
  });
  return { ...scene.services, db };
}

const codes = Object.keys(errorRules) as ErrorCode[];

test.each(codes)(
  "%s has over tRPC the status of the table, alone, in a batch and in its data",
  async (code) => {
    const { httpStatus } = errorRules[code];
    const call = (path: string) =>
      handleTrpc(
        failingWith(code),
        new Request(`${testOrigin}/api/trpc/${path}`, {
          headers: { authorization: `Bearer ${scene.owner.key}` },
        }),
      );
    const single = await call("apiKeys.list");
    expect(single.status).toBe(httpStatus);
    expect(await single.json()).toMatchObject({ error: { json: { data: { httpStatus, appCode: code } } } });
    const batch = await call("apiKeys.list,apiKeys.list?batch=1&input=%7B%7D");
    expect(batch.status).toBe(httpStatus);
    const mixed = await call("apiKeys.list,nothing.here?batch=1&input=%7B%7D");
    expect(mixed.status).toBe(httpStatus === 404 ? 404 : 207);
  },
);
