import { getDefaultAutoSelectFamilyAttemptTimeout } from "node:net";
import {
  createServer as createHttpServer,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from "node:http";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { getCACertificates, setDefaultCACertificates } from "node:tls";
import { brotliCompressSync, deflateSync, gzipSync, zstdCompressSync } from "node:zlib";
import { type ConnectProxy, startConnectProxy, testCertificate } from "@atelier/testing/network";
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "vitest";
import { inspectEnv } from "./env.ts";
import { isUnsent, outsideFetch, patientFetch, proxyFor, useProxies } from "./proxy.ts";
import { safeFetch } from "./safe-fetch.ts";

const seen: string[] = [];
/** The timers of `fetch` count in seconds. */
const slowMs = 3_000;
let servers: Server[];
let proxies: { readonly secure: ConnectProxy; readonly plain: ConnectProxy };

const packers: Readonly<Record<string, (text: string) => Buffer>> = {
  gzip: gzipSync,
  deflate: deflateSync,
  br: brotliCompressSync,
  zstd: zstdCompressSync,
};

/** Packs what was asked for as it is. */
function answerPacked(packing: string, response: ServerResponse): void {
  const packed = packers[packing]?.("made of many words") ?? Buffer.from("plain");
  const encoding = packing === "none" ? "gzip" : packing;
  response.writeHead(200, { "content-encoding": encoding, "content-length": packed.length }).end(packed);
}

async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const body = Buffer.concat(await Array.fromAsync(request)).toString("latin1");
  seen.push(`${request.method} ${request.headers.host}${request.url} ${body.length}`);
  if (request.url === "/moved") response.writeHead(302, { location: "https://two.example.com/end" }).end();
  else if (request.url === "/empty") response.writeHead(204).end();
  else if (request.url?.startsWith("/packed/")) answerPacked(request.url.slice("/packed/".length), response);
  else if (request.url?.startsWith("/slow")) setTimeout(() => response.end("made"), slowMs);
  else
    response.writeHead(200, { "content-type": "text/plain", "x-one": "1" }).end(`made ${body.slice(0, 20)}`);
}

const usualAuthorities = getCACertificates("default");

beforeAll(async () => {
  setDefaultCACertificates([...usualAuthorities, testCertificate.cert]);
  const secure = createServer(testCertificate, (...both) => void answer(...both));
  const plain = createHttpServer((...both) => void answer(...both));
  servers = [secure, plain];
  for (const server of servers) await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  const portOf = (server: Server) => (server.address() as AddressInfo).port;
  proxies = {
    secure: await startConnectProxy(portOf(secure)),
    plain: await startConnectProxy(portOf(plain)),
  };
});
afterAll(async () => {
  setDefaultCACertificates(usualAuthorities);
  await Promise.all([proxies.secure.close(), proxies.plain.close()]);
  for (const server of servers) server.close();
});
beforeEach(() => {
  for (const { asked, authorizations } of Object.values(proxies)) {
    asked.length = 0;
    authorizations.length = 0;
  }
  seen.length = 0;
});
afterEach(() => {
  proxies.secure.refusal = null;
  use({});
});

const use = (source: Record<string, string>) => useProxies(inspectEnv(source).env);
const signal = () => AbortSignal.timeout(60_000);

test("a call to the outside goes through the proxy, with its answer, its body and TLS to the server itself", async () => {
  use({ HTTPS_PROXY: proxies.secure.url.replace("//", "//me:p%40ss@") });
  const response = await outsideFetch("https://api.example.com/v1/make?a=1", {
    method: "POST",
    body: JSON.stringify({ prompt: "p" }),
    headers: { authorization: "Bearer secret" },
    signal: signal(),
  });
  expect([response.status, response.headers.get("x-one"), await response.text()]).toEqual([
    200,
    "1",
    'made {"prompt":"p"}',
  ]);
  expect(proxies.secure.asked).toEqual(["CONNECT api.example.com:443"]);
  expect(proxies.secure.authorizations).toEqual([`Basic ${Buffer.from("me:p@ss").toString("base64")}`]);
  expect(seen).toEqual(["POST api.example.com/v1/make?a=1 14"]);
  const form = new FormData();
  form.set("image", new Blob([Buffer.alloc(100_000)]), "a.png");
  await outsideFetch("https://api.example.com/form", { method: "POST", body: form, signal: signal() });
  expect(Number(seen[1]?.split(" ").at(-1))).toBeGreaterThan(100_000);
  expect((await outsideFetch("https://api.example.com/empty", { signal: signal() })).status).toBe(204);
});

test("without TLS the proxy gets the whole address; names of the environment count in small letters too", async () => {
  use({ http_proxy: proxies.plain.url.replace("http://", "") });
  expect(await (await outsideFetch("http://api.example.com/a?b", { signal: signal() })).text()).toBe("made ");
  expect(proxies.plain.asked).toEqual(["GET http://api.example.com/a?b"]);
  use({ HTTPS_PROXY: "http://wrong.example.com:1", https_proxy: proxies.secure.url });
  await outsideFetch("https://api.example.com/", { signal: signal() });
  use({ ALL_PROXY: proxies.secure.url });
  await outsideFetch("https://api.example.com/", { signal: signal() });
  expect(proxies.secure.asked).toHaveLength(2);
});

test("a proxy that refuses, or is away, is named, and nothing reached the server", async () => {
  use({ HTTPS_PROXY: proxies.secure.url });
  proxies.secure.refusal = 403;
  await expect(outsideFetch("https://api.example.com/", { signal: signal() })).rejects.toMatchObject({
    code: "ERR_PROXY",
    message: expect.stringContaining("answered 403 instead of opening the way to api.example.com:443"),
  });
  use({ HTTPS_PROXY: "http://127.0.0.1:9" });
  await expect(outsideFetch("https://api.example.com/", { signal: signal() })).rejects.toMatchObject({
    code: "ERR_PROXY",
  });
  expect(seen).toEqual([]);
});

test("a redirect is an error or an answer, as the caller says, and never followed by itself", async () => {
  use({ HTTPS_PROXY: proxies.secure.url });
  const moved = "https://api.example.com/moved";
  expect((await outsideFetch(moved, { redirect: "manual", signal: signal() })).status).toBe(302);
  await expect(outsideFetch(moved, { redirect: "error", signal: signal() })).rejects.toThrow("redirects");
});

test.each([
  ["https://api.example.com", "", true],
  ["https://api.example.com", "*", false],
  ["https://api.example.com", "example.com", false],
  ["https://api.example.com", ".example.com", false],
  ["https://api.example.com", "*.example.com", false],
  ["https://api.example.com", "other.com, API.example.com", false],
  ["https://api.example.com", "ample.com", true],
  ["https://api.example.com", "api.example.com:8443", true],
  ["https://api.example.com:8443", "api.example.com:8443", false],
  ["https://93.184.216.34", "93.184.0.0/16", false],
  ["https://93.184.216.34", "10.0.0.0/8", true],
  ["https://127.0.0.1:8188", "", false],
  ["https://[::1]", "", false],
  ["https://localhost", "", false],
  ["https://10.0.0.5:8188", "", false],
  ["https://comfy.lan", "", false],
  ["https://ollama:11434", "", false],
])("whether %s goes through the proxy without %j", (address, without, isProxied) => {
  use({ HTTPS_PROXY: "http://proxy.example.org:3128", NO_PROXY: without });
  expect(proxyFor(new URL(address)) !== null).toBe(isProxied);
});

test("no other kind of proxy is taken for one of HTTP, and none is used without a setting", () => {
  use({ HTTPS_PROXY: "socks5://127.0.0.1:1080" });
  expect(proxyFor(new URL("https://api.example.com"))).toBeNull();
  use({});
  expect(proxyFor(new URL("https://api.example.com"))).toBeNull();
});

const outside = { address: "93.184.216.34", family: 4 };
const fetchSafely = (url: string, found: readonly { address: string; family: number }[] | null, more = {}) =>
  safeFetch(url, {
    signal: signal(),
    timeoutMs: 9_000,
    maxBytes: 1_000,
    resolve: () => (found ? Promise.resolve(found) : Promise.reject(new Error("ENOTFOUND"))),
    ...more,
  });

test("S4 behind a proxy a name is checked all the same, and the proxy is told a checked address", async () => {
  use({ HTTPS_PROXY: proxies.secure.url });
  const { body } = await fetchSafely("https://cdn.example.com/a.png", [outside]);
  expect(body.toString()).toBe("made ");
  expect(proxies.secure.asked).toEqual(["CONNECT 93.184.216.34:443"]);
  expect(seen).toEqual(["GET cdn.example.com/a.png 0"]);
  for (const address of ["127.0.0.1", "10.0.0.1", "169.254.169.254", "::1", "::ffff:10.0.0.1"])
    await expect(
      fetchSafely("https://cdn.example.com/", [outside, { address, family: address.includes(":") ? 6 : 4 }]),
    ).rejects.toMatchObject({ code: "url_refused" });
  for (const url of ["https://127.0.0.1/", "https://printer.lan/", "http://cdn.example.com/"])
    await expect(fetchSafely(url, [outside])).rejects.toMatchObject({ code: "url_refused" });
  expect(proxies.secure.asked).toHaveLength(1);
});

test("S4 a name is told where the caller trusts it, and where only the proxy knows it; redirects are checked alike", async () => {
  use({ HTTPS_PROXY: proxies.secure.url });
  await fetchSafely("https://cdn.example.com/", [outside], { isNameTold: true });
  await fetchSafely("https://cdn.example.com/", null);
  expect((await fetchSafely("https://cdn.example.com/moved", [outside])).url).toBe(
    "https://two.example.com/end",
  );
  expect(proxies.secure.asked).toEqual([
    "CONNECT cdn.example.com:443",
    "CONNECT cdn.example.com:443",
    "CONNECT 93.184.216.34:443",
    "CONNECT 93.184.216.34:443",
  ]);
  proxies.secure.refusal = 502;
  await expect(fetchSafely("https://cdn.example.com/", [outside])).rejects.toMatchObject({
    code: "url_unreachable",
  });
});

test.each([
  ["no connection", new TypeError("fetch failed", { cause: withCode("ECONNREFUSED") }), true],
  ["a proxy that opens no way", withCode("ERR_PROXY"), true],
  ["a certificate of another host", new Error("", { cause: withCode("ERR_TLS_CERT_ALTNAME_INVALID") }), true],
  ["a certificate that has ended", withCode("CERT_HAS_EXPIRED"), true],
  ["a certificate of its own", withCode("DEPTH_ZERO_SELF_SIGNED_CERT"), true],
  ["a connection that broke", new TypeError("fetch failed", { cause: withCode("ECONNRESET") }), false],
  [
    "an alert of TLS, which may come after the request",
    withCode("ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED"),
    false,
  ],
  ["a limit of time", new DOMException("", "TimeoutError"), false],
])("after %s nothing was sent: %o, %s", (_what, error, isSo) => {
  expect(isUnsent(error)).toBe(isSo);
});

function withCode(code: string): Error {
  return Object.assign(new Error(code), { code });
}

test("F20 a host whose address is far away is reached, although its next address has no way", async () => {
  use({});
  // Node gives each address but the last so long; a round trip around the world, and one packet that is sent again, take more.
  expect(getDefaultAutoSelectFamilyAttemptTimeout()).toBeGreaterThan(1_200);
});

type Dispatcher = new (options: { readonly headersTimeout: number; readonly bodyTimeout: number }) => object;

/** `fetch` waits for an answer this short a time, instead of its five minutes. */
async function shortenFetch(limitMs: number): Promise<() => void> {
  await fetch("data:,");
  const names = Object.getOwnPropertySymbols(globalThis).filter((name) =>
    /globalDispatcher/.test(String(name)),
  );
  const kept = names.map((name) => [name, Reflect.get(globalThis, name) as object] as const);
  for (const [name, { constructor }] of kept)
    Reflect.set(
      globalThis,
      name,
      new (constructor as Dispatcher)({ headersTimeout: limitMs, bodyTimeout: limitMs }),
    );
  return () => kept.forEach(([name, dispatcher]) => Reflect.set(globalThis, name, dispatcher));
}

test.each(Object.keys(packers))("an answer that is packed unasked is read: %s", async (packing) => {
  const [port = 0] = servers.slice(1).map((server) => (server.address() as AddressInfo).port);
  const direct = await patientFetch(`http://127.0.0.1:${port}/packed/${packing}`, { signal: signal() });
  expect(direct.headers.get("content-encoding")).toBeNull();
  expect(await direct.text()).toBe("made of many words");
  use({ HTTPS_PROXY: proxies.secure.url });
  const byProxy = await outsideFetch(`https://api.example.com/packed/${packing}`, { signal: signal() });
  expect(await byProxy.text()).toBe("made of many words");
});

test("an answer that says to be packed and is not fails as one that broke", async () => {
  const [port = 0] = servers.slice(1).map((server) => (server.address() as AddressInfo).port);
  const answered = await patientFetch(`http://127.0.0.1:${port}/packed/none`, { signal: signal() });
  await expect(answered.text()).rejects.toMatchObject({ code: "Z_DATA_ERROR" });
});

test("a server that is silent until its work is done is waited for, direct and by a proxy, as long as the signal says", async ({
  onTestFinished,
}) => {
  onTestFinished(await shortenFetch(slowMs / 30));
  const [port = 0] = servers.slice(1).map((server) => (server.address() as AddressInfo).port);
  const url = `http://127.0.0.1:${port}/slow?a=1`;
  await expect(outsideFetch(url, { signal: signal() })).rejects.toMatchObject({
    cause: { code: "UND_ERR_HEADERS_TIMEOUT" },
  });
  const asked = { method: "POST", body: "words" };
  expect(await (await patientFetch(url, { ...asked, signal: signal() })).text()).toBe("made");
  expect(seen.at(-1)).toBe(`POST 127.0.0.1:${port}/slow?a=1 5`);
  const limit = AbortSignal.timeout(slowMs / 30);
  await expect(patientFetch(url, { signal: limit })).rejects.toMatchObject({ name: "AbortError" });
  const moved = `http://127.0.0.1:${port}/moved`;
  await expect(patientFetch(moved, { redirect: "error", signal: signal() })).rejects.toThrow(/redirects/);
  await expect(patientFetch("http://127.0.0.1:1/", { signal: signal() })).rejects.toMatchObject({
    code: "ECONNREFUSED",
  });
  use({ HTTP_PROXY: proxies.plain.url });
  const byProxy = await patientFetch("http://api.example.com/slow", { ...asked, signal: signal() });
  expect(await byProxy.text()).toBe("made");
});
