import { createHash } from "node:crypto";
import { brotliCompressSync, gzipSync } from "node:zlib";
import { addNode } from "@atelier/testing/jobs";
import {
  createTestServices,
  inOneMinute,
  openGuest,
  openOwner,
  testOrigin,
  testPassword,
  type TestOwner,
  type TestServices,
} from "@atelier/testing/services";
import { eq } from "drizzle-orm";
import type { Hono } from "hono";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { schema } from "../../db/index.ts";
import { maxJsonBytes } from "../requests.ts";
import { createHttpApp, handleAuth, handleProviderWebhook, handleTrpc } from "../index.ts";
import { httpRoutes } from "./app.ts";

let fixture: TestServices;
let app: Hono;
let owner: TestOwner;

beforeAll(async () => {
  fixture = await createTestServices({ config: { limits: { apiKeyPerMinute: 77 } } });
  app = createHttpApp(fixture.services);
  owner = await openOwner(fixture.services, "owner@example.com");
});
afterAll(() => fixture.close());

interface Sent {
  readonly method?: string;
  readonly headers?: Record<string, string>;
  readonly body?: string;
}

const send = (path: string, { method = "GET", headers = {}, body }: Sent = {}) =>
  app.fetch(new Request(`${testOrigin}/api/v1${path}`, { method, headers, ...(body ? { body } : {}) }));

const json = { "content-type": "application/json" };
const bearer = () => ({ authorization: `Bearer ${owner.apiKey}` });

async function problemOf(response: Response) {
  expect(response.headers.get("content-type")).toBe("application/problem+json");
  return (await response.json()) as Record<string, unknown>;
}

describe("problems", () => {
  test("an unknown address is 404", async () => {
    const response = await send("/nothing/here");
    expect(response.status).toBe(404);
    expect(await problemOf(response)).toMatchObject({
      code: "not_found",
      title: "Not Found",
      detail: expect.stringMatching(/\/api\/v1\/openapi\.json lists what there is/),
      type: "about:blank",
    });
  });

  test("a wrong query names its fields", async () => {
    const response = await send("/jobs?limit=many", { headers: bearer() });
    expect(response.status).toBe(400);
    const problem = await problemOf(response);
    expect(problem).toMatchObject({ code: "bad_request", errors: [{ path: "limit" }] });
  });

  test("bodies that are no JSON or too large are refused", async () => {
    const post = (headers: Record<string, string>, body: string) =>
      send("/jobs", { method: "POST", headers: { ...bearer(), ...headers }, body });
    expect((await post(json, "{")).status).toBe(400);
    expect((await post({ "content-type": "text/plain" }, "{}")).status).toBe(400);
    const large = await post(json, JSON.stringify({ prompt: "x".repeat(maxJsonBytes) }));
    expect(await problemOf(large)).toMatchObject({ status: 413, code: "request_too_large" });
  });

  test("a body is read packed with gzip, no further than any other, and refused packed in another way", async () => {
    const post = (packing: string, body: Uint8Array<ArrayBuffer>) => {
      const headers = { ...bearer(), ...json, "content-encoding": packing };
      return app.fetch(new Request(`${testOrigin}/api/v1/jobs/estimate`, { method: "POST", headers, body }));
    };
    const request = JSON.stringify({ kind: "text_to_image", params: { prompt: "a fox" } });
    for (const packing of ["gzip", "X-GZip"])
      expect((await post(packing, gzipSync(request))).status).toBe(200);
    const bomb = gzipSync(Buffer.alloc(100 * maxJsonBytes, " "));
    expect(await problemOf(await post("gzip", bomb))).toMatchObject({ code: "request_too_large" });
    const refused = [
      await post("br", brotliCompressSync(request)),
      await post("gzip", Buffer.from(request)),
      await post("gzip", gzipSync(request).subarray(0, 20)),
      await post("gzip, gzip", gzipSync(gzipSync(request))),
    ];
    for (const answer of refused)
      expect(await problemOf(answer)).toMatchObject({
        code: "bad_request",
        detail: expect.stringMatching(/gzip/),
      });
  });
});

test("A12 a job says which worker and which server had it last, since when and for how long", async () => {
  const { services } = fixture;
  const nodeId = await addNode(services);
  const startedAt = new Date("2026-01-02T03:04:05.000Z");
  const endedAt = new Date("2026-01-02T03:04:09.250Z");
  const { jobs, nodes } = schema;
  const before = await (await send(`/jobs/${owner.jobId}`, { headers: bearer() })).json();
  const nowhere = { node: null, server: null, executedBy: null };
  const never = { startedAt: null, endedAt: null, processingMs: null };
  expect(before).toMatchObject({ queue: "cpu-light", attempt: 0, engine: "local", workflow: null });
  expect(before).toMatchObject({ ...nowhere, ...never });
  const run = { nodeId, server: "http://gpu1:8188", startedAt, attempt: 2 };
  await services.db.update(jobs).set({ ...run, endedAt });
  const [node] = await services.db.select().from(nodes).where(eq(nodes.id, nodeId));
  const after = await (await send(`/jobs/${owner.jobId}`, { headers: bearer() })).json();
  expect(after).toMatchObject({
    attempt: 2,
    node: node?.name,
    server: "gpu1:8188",
    executedBy: `${node?.name} @ gpu1:8188`,
    startedAt: "2026-01-02T03:04:05.000Z",
    endedAt: "2026-01-02T03:04:09.250Z",
    processingMs: 4_250,
  });
  await services.db.update(jobs).set({ server: null, endedAt: null });
  const local = await (await send(`/jobs/${owner.jobId}`, { headers: bearer() })).json();
  expect(local).toMatchObject({ executedBy: node?.name, endedAt: null, processingMs: null });
  // Cancelled while it waited for its next attempt: the start is that of an earlier one.
  await services.db.update(jobs).set({ nodeId: null, endedAt });
  const waited = await (await send(`/jobs/${owner.jobId}`, { headers: bearer() })).json();
  expect(waited).toMatchObject({ ...nowhere, processingMs: null });
  await services.db.update(jobs).set({ startedAt: null, endedAt: null, attempt: 0 });
});

describe("S5 requests forged by another site", () => {
  const cookie = () => owner.browser.headers.get("cookie") ?? "";
  const host = new URL(testOrigin).host;
  const cancelPath = () => `/jobs/${owner.jobId}/cancel`;
  const forged: [string, Record<string, string>][] = [
    ["a foreign Origin", { origin: "https://evil.example" }],
    ["a foreign Origin that looks alike", { origin: `${testOrigin}.evil.example` }],
    ["an opaque Origin", { origin: "null" }],
    ["neither Origin nor Sec-Fetch-Site", {}],
    ["Sec-Fetch-Site cross-site", { "sec-fetch-site": "cross-site" }],
    ["Sec-Fetch-Site same-site", { "sec-fetch-site": "same-site" }],
    [
      "a foreign Origin beside Sec-Fetch-Site same-origin",
      { origin: "https://evil.example", "sec-fetch-site": "same-origin" },
    ],
  ];

  test.each(forged)("a write with the cookie and %s is refused over HTTP", async (_, headers) => {
    const response = await send(cancelPath(), {
      method: "POST",
      headers: { ...headers, host, cookie: cookie() },
    });
    expect(response.status).toBe(403);
    expect(await problemOf(response)).toMatchObject({ code: "forbidden" });
  });

  const mutate = (
    headers: Record<string, string>,
    url = `${testOrigin}/api/trpc/jobs.cancel`,
    method = "POST",
  ) =>
    handleTrpc(
      fixture.services,
      new Request(url, {
        method,
        headers: { ...headers, host, cookie: cookie() },
        ...(method === "POST" ? { body: JSON.stringify({ json: { id: owner.jobId } }) } : {}),
      }),
    );

  test.each(forged)("a write with the cookie and %s is refused over tRPC", async (_, headers) => {
    expect((await mutate({ ...headers, ...json })).status).toBe(403);
  });

  test("mutations are refused as GET, batched GET, form and plain text", async () => {
    const input = encodeURIComponent(JSON.stringify({ json: { id: owner.jobId } }));
    const batch = encodeURIComponent(JSON.stringify({ 0: { json: { id: owner.jobId } } }));
    const base = `${testOrigin}/api/trpc/jobs.cancel`;
    const statuses = [
      (await mutate({}, `${base}?input=${input}`, "GET")).status,
      (await mutate({}, `${base}?batch=1&input=${batch}`, "GET")).status,
      (await mutate({ "content-type": "text/plain" })).status,
      (await mutate({ "content-type": "application/x-www-form-urlencoded" })).status,
      (await mutate({ "content-type": "multipart/form-data; boundary=x" })).status,
    ];
    expect(statuses).toEqual([405, 405, 415, 415, 415]);
  });

  test("none of them had an effect, and the same write from the own site has", async () => {
    const read = await send(`/jobs/${owner.jobId}`, { headers: bearer() });
    expect(await read.json()).toMatchObject({ status: expect.not.stringMatching(/cancelled/) });
    const own = await send(cancelPath(), {
      method: "POST",
      headers: { origin: testOrigin, host, cookie: cookie() },
    });
    expect(await own.json()).toMatchObject({ cancelled: true, status: "cancelled" });
  });

  const firstContacts = ["/sign-in/anonymous", "/sign-in/email", "/sign-up/email", "/sign-out"];
  test.each(firstContacts)("%s makes neither guest nor session for another site", async (path) => {
    const { users, sessions } = schema;
    const { db } = fixture.services;
    const before = [await db.$count(users), await db.$count(sessions)];
    const body = JSON.stringify({ email: "owner@example.com", password: testPassword, name: "Forged" });
    const foreign: Record<string, string>[] = [
      { origin: "https://evil.example" },
      { "sec-fetch-site": "cross-site" },
    ];
    for (const headers of foreign) {
      const request = new Request(`${testOrigin}/api/auth${path}`, {
        method: "POST",
        headers: { ...json, ...headers, host },
        body,
      });
      expect((await handleAuth(fixture.services, request)).status).toBe(403);
    }
    expect([await db.$count(users), await db.$count(sessions)]).toEqual(before);
  });

  test("a body above 16 KiB below /api/auth is refused without reading on", async () => {
    let sentBytes = 0;
    const endless = new ReadableStream<Uint8Array>({
      pull(controller) {
        sentBytes += 1_024;
        controller.enqueue(new Uint8Array(1_024).fill(0x20));
      },
    });
    const url = `${testOrigin}/api/auth/sign-up/email`;
    const init = { method: "POST", headers: { ...json, origin: testOrigin, host } };
    // Node asks for `duplex` with a stream; its types do not know the name.
    const streamed: RequestInit & { duplex: "half" } = { ...init, body: endless, duplex: "half" };
    const padded = (sizeBytes: number) =>
      JSON.stringify({ email: "padded@example.com", password: testPassword, name: "P" }).padEnd(sizeBytes);
    const answers = [
      await handleAuth(fixture.services, new Request(url, streamed)),
      await handleAuth(fixture.services, new Request(url, { ...init, body: padded(16_385) })),
    ];
    for (const answer of answers) {
      expect(answer.status).toBe(413);
      expect(await answer.json()).toMatchObject({ code: "request_too_large" });
    }
    expect(sentBytes).toBeLessThan(20_000);
    const largest = await handleAuth(fixture.services, new Request(url, { ...init, body: padded(16_384) }));
    expect(largest.status).toBe(200);
  });

  test("an API key needs no Origin", async () => {
    const response = await send(cancelPath(), { method: "POST", headers: bearer() });
    expect(response.status).toBe(200);
  });
});

describe("API keys over tRPC", () => {
  const create = (headers: Headers) =>
    handleTrpc(
      fixture.services,
      new Request(`${testOrigin}/api/trpc/apiKeys.create`, {
        method: "POST",
        headers: { ...Object.fromEntries(headers), ...json },
        body: JSON.stringify({ json: { name: "one more" } }),
      }),
    );

  test("guests and keys make no keys, accounts do", async () => {
    const guest = await openGuest(fixture.services);
    expect((await create(guest.headers)).status).toBe(403);
    expect((await create(new Headers(bearer()))).status).toBe(403);
    expect((await create(owner.browser.headers)).status).toBe(200);
  });
});

describe("the document", () => {
  interface Document {
    openapi: string;
    paths: Record<string, Record<string, { operationId: string; responses: Record<string, unknown> }>>;
  }

  const read = async () => (await (await send("/openapi.json")).json()) as Document;

  test("is OpenAPI 3.1 and names every route once", async () => {
    const document = await read();
    expect(document.openapi).toMatch(/^3\.1\./);
    const named = Object.entries(document.paths).flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, { operationId }]) => `${method} ${path} ${operationId}`),
    );
    expect(named.toSorted()).toEqual(
      httpRoutes.map(({ method, path, operationId }) => `${method} ${path} ${operationId}`).toSorted(),
    );
    const ids = httpRoutes.map(({ operationId }) => operationId);
    expect(new Set(ids).size).toBe(ids.length);
  });

  test("tells the limits that hold here", async () => {
    const text = JSON.stringify(await read());
    expect(text).toContain("may send 77 requests a minute");
    expect(text).toContain("25 MB and 50 megapixels");
  });

  test("names no bound of a number that only JavaScript has", async () => {
    expect(JSON.stringify(await read())).not.toContain(String(Number.MAX_SAFE_INTEGER));
  });

  test("resolves all of its references", async () => {
    const document = await read();
    const refs = [...JSON.stringify(document).matchAll(/"\$ref":"#\/([^"]+)"/g)].map(
      ([, pointer = ""]) => pointer,
    );
    expect(refs.length).toBeGreaterThan(0);
    for (const pointer of new Set(refs)) {
      const found = pointer
        .split("/")
        .reduce<unknown>((node, key) => (node as Record<string, unknown> | undefined)?.[key], document);
      expect(found).toBeDefined();
    }
  });

  describe("the readable page", () => {
    const open = async (headers: Record<string, string> = {}) => {
      const response = await app.fetch(new Request(`${testOrigin}/api/v1/docs`, { headers }));
      return { response, page: await response.text() };
    };

    test("shows the document and names no outside host", async () => {
      const { response, page } = await open();
      expect(response.headers.get("content-type")).toMatch(/^text\/html/);
      expect(page).toContain('"url":"/api/v1/openapi.json"');
      expect(page).not.toMatch(/(https?:)?\/\/[a-z0-9-]+\.|@import/i);
    });

    test("admits only scripts with the nonce of this answer, and no other host", async () => {
      const { response, page } = await open();
      const policy = response.headers.get("content-security-policy") ?? "";
      const nonce = /script-src 'nonce-([^']{20,})';/.exec(policy)?.[1];
      const nonces = [...page.matchAll(/<script([^>]*)>/g)].map(([, attributes = ""]) => attributes);
      expect(nonces).toHaveLength(2);
      for (const attributes of nonces) expect(attributes).toContain(`nonce="${nonce}"`);
      expect(policy).not.toMatch(/unsafe-eval|https?:|\*/);
      expect((await open()).response.headers.get("content-security-policy")).not.toBe(policy);
    });

    test("loads the viewer and the fonts under names with their digests, to be kept for a year", async () => {
      const { page } = await open();
      const files = [...page.matchAll(/\/api\/v1(\/docs\/\w+-([0-9a-f]{16})\.(js|woff2))/g)];
      expect(files.map(([, , , kind]) => kind)).toEqual(["woff2", "woff2", "js"]);
      const types: Record<string, string> = { js: "text/javascript; charset=utf-8", woff2: "font/woff2" };
      for (const [, file = "", digest = "", kind = ""] of files) {
        const response = await send(file);
        expect(response.headers.get("content-type")).toBe(types[kind]);
        expect(response.headers.get("cache-control")).toBe("public, max-age=31536000, immutable");
        const bytes = new Uint8Array(await response.arrayBuffer());
        expect(createHash("sha256").update(bytes).digest("hex").slice(0, 16)).toBe(digest);
      }
      expect((await send("/docs/viewer-0000000000000000.js")).status).toBe(404);
    });

    test("follows the theme that the user chose", async () => {
      expect((await open()).page).not.toContain("forceDarkModeState");
      const { page } = await open({ cookie: "atelier-theme=dark" });
      expect(page).toContain('data-theme="dark"');
      expect(page).toContain('"forceDarkModeState":"dark"');
      expect((await open({ cookie: "atelier-theme=%3Cscript" })).page).not.toContain("forceDarkModeState");
    });
  });
});

test("reads by session have a limit of their own on both doors together, each call of a batch counts, keys do not", async () => {
  const limits = { ...fixture.services.config.limits, sessionReadsPerMinute: 4 };
  const services = { ...fixture.services, config: { ...fixture.services.config, limits } };
  const limited = createHttpApp(services);
  const read = async (headers: Record<string, string>, method = "GET") =>
    (await limited.fetch(new Request(`${testOrigin}/api/v1/jobs`, { method, headers }))).status;
  const statuses = await inOneMinute(services, async () => {
    const cookie = Object.fromEntries((await openGuest(services)).headers);
    const query = async (path: string) =>
      (await handleTrpc(services, new Request(`${testOrigin}/api/trpc/${path}`, { headers: cookie }))).status;
    return {
      taken: [
        await read(cookie),
        await read(cookie, "HEAD"),
        await query("account.usage,account.usage?batch=1&input=%7B%7D"),
      ],
      refused: [await read(cookie), await read(cookie, "HEAD"), await query("account.usage")],
      ofOthers: [await read(Object.fromEntries(owner.browser.headers)), await read(bearer())],
    };
  });
  expect(statuses).toEqual({ taken: [200, 200, 200], refused: [429, 429, 429], ofOthers: [200, 200] });
});

test("webhooks with tokens that nobody knows have a limit for each address", async () => {
  const [limit, atOnce] = [600, 10];
  const answers = await inOneMinute(fixture.services, async () => {
    // Without what the minute before has left of its permits, and what a try that it interrupted has taken of this one's.
    const services = { ...fixture.services };
    await fixture.services.db.delete(schema.rateLimits);
    const call = async (address: string) => {
      const headers = { "x-forwarded-for": address };
      const url = `${testOrigin}/api/webhooks/fal/unknown`;
      return (await handleProviderWebhook(services, new Request(url, { method: "POST", headers }))).status;
    };
    // No more at once than there are connections: what waits longer for one than a few seconds is told to come again.
    const flood = async (address: string) => {
      const statuses: number[] = [];
      while (statuses.length < limit + atOnce)
        statuses.push(...(await Promise.all(Array.from({ length: atOnce }, () => call(address)))));
      return [404, 429].map((wanted) => statuses.filter((status) => status === wanted).length);
    };
    return {
      floods: [await flood("198.51.100.7"), await flood("2001:db8:1:2::5")],
      ofTheSameNetwork: await call("2001:db8:1:2::6"),
      ofAnother: await call("198.51.100.8"),
    };
  });
  const flooded = [limit, atOnce];
  expect(answers).toEqual({ floods: [flooded, flooded], ofTheSameNetwork: 429, ofAnother: 404 });
});

test("writes by session have a limit on both doors together; reads and keys do not count", async () => {
  const limits = { ...fixture.services.config.limits, sessionWritesPerMinute: 2 };
  const services = { ...fixture.services, config: { ...fixture.services.config, limits } };
  const limited = createHttpApp(services);
  const write = (headers: Record<string, string>) => {
    const init = { method: "DELETE", headers: { origin: testOrigin, ...headers } };
    return limited.fetch(new Request(`${testOrigin}/api/v1/images/${owner.imageId}`, init));
  };
  const answers = await inOneMinute(services, async () => {
    const cookie = Object.fromEntries((await openGuest(services)).headers);
    const rename = () =>
      handleTrpc(
        services,
        new Request(`${testOrigin}/api/trpc/images.rename`, {
          method: "POST",
          headers: { ...cookie, ...json },
          body: JSON.stringify({ json: { id: owner.imageId, title: "Cup" } }),
        }),
      );
    const read = () =>
      limited.fetch(new Request(`${testOrigin}/api/v1/images/${owner.imageId}`, { headers: cookie }));
    return [await write(cookie), await rename(), await write(cookie), await rename(), await read()];
  });
  expect(answers.map(({ status }) => status)).toEqual([404, 404, 429, 429, 404]);
  const wrong: Record<string, string>[] = [{ authorization: "Bearer atelier_unknown" }, {}];
  const details = wrong.map(async (headers) => {
    const answer = await write(headers);
    return [answer.status, ((await answer.json()) as { detail: string }).detail];
  });
  expect(await Promise.all(details)).toEqual([
    [401, expect.stringMatching(/^This API key does not work: it is mistyped/)],
    [401, "Sign in or send an API key."],
  ]);
});
