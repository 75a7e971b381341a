import { createServer as createTlsServer } from "node:https";
import type { AddressInfo } from "node:net";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { brotliCompressSync, deflateSync, gzipSync } from "node:zlib";
import { testCertificate } from "@atelier/testing/network";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { safeFetch, type SafeFetchOptions } from "./safe-fetch.ts";

interface Seen {
  readonly host: string | undefined;
  readonly line: string;
  readonly headers: IncomingMessage["headers"];
}

type Answer = (response: ServerResponse, request: IncomingMessage) => void;

const mebibyte = 1_048_576;
const text = "A picture, if you will.";
const packed = (encoding: string, body: Buffer): Answer => {
  return (response) => response.writeHead(200, { "content-encoding": encoding }).end(body);
};
const to = (location: string, status = 302): Answer => {
  return (response) => response.writeHead(status, { location }).end("x".repeat(10_000));
};

const answers: Record<string, Answer> = {
  "/text": (response) => response.end(text),
  "/gzip": packed("gzip", gzipSync(text)),
  "/deflate": packed("deflate", deflateSync(text)),
  "/br": packed("br", brotliCompressSync(text)),
  "/gzip-bomb": packed("gzip", gzipSync(Buffer.alloc(64 * mebibyte))),
  "/br-bomb": packed("br", brotliCompressSync(Buffer.alloc(64 * mebibyte))),
  "/twice": packed("gzip, gzip", gzipSync(gzipSync(text))),
  "/not-gzip": packed("gzip", Buffer.from(text)),
  "/cut-gzip": packed("gzip", gzipSync(text).subarray(0, 20)),
  "/empty": (response) => response.writeHead(204, { "content-encoding": "gzip" }).end(),
  "/announced": (response) => response.writeHead(200, { "content-length": 10 ** 12 }).flushHeaders(),
  "/endless": (response) => {
    const more = () => {
      while (response.write(Buffer.alloc(65_536)));
    };
    response.on("drain", more);
    more();
  },
  "/silent": () => undefined,
  "/slow": (response) => void response.write("a"),
  "/cut": (response) => {
    response.writeHead(200, { "content-length": 100 }).write("a");
    setImmediate(() => response.destroy());
  },
  "/upgrade": (_, { socket }) => {
    socket.write("HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: other\r\n\r\n");
  },
  "/noise": (_, { socket }) => void socket.end("SSH-2.0-OpenSSH_9.6\r\n"),
  "/large-head": (response) => response.writeHead(200, { "x-large": "x".repeat(100_000) }).end(),
  "/error": (response) => response.writeHead(404).end("none"),
  "/once": to("/text"),
  "/three": to("/two"),
  "/two": to("/once", 307),
  "/four": to("/three"),
  "/loop": to("/loop", 308),
  "/to-private": to("http://10.0.0.1/"),
  "/to-metadata": to("http://169.254.169.254/latest/meta-data/"),
  "/to-file": to("file:///etc/passwd"),
  "/to-nowhere": to("http://[/"),
};

const seen: Seen[] = [];
let server: Server;
let origin: string;
let options: SafeFetchOptions;

beforeAll(async () => {
  server = createServer((request, response) => {
    const { host } = request.headers;
    seen.push({ host, line: `${request.method} ${request.url}`, headers: request.headers });
    answers[request.url ?? ""]?.(response, request);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as { port: number };
  origin = `http://127.0.0.1:${port}`;
  const allowPrivate = [`127.0.0.1:${port}`, `other.lan:${port}`];
  const resolve = () => Promise.resolve([{ address: "127.0.0.1", family: 4 }]);
  answers["/away"] = to(`http://other.lan:${port}/back`);
  answers["/back"] = to(`${origin}/text`);
  const { signal } = new AbortController();
  options = { signal, timeoutMs: 20_000, maxBytes: mebibyte, allowPrivate, resolve };
});
afterAll(async () => {
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
});
beforeEach(() => void seen.splice(0));

const read = async (path: string, more: Partial<SafeFetchOptions> = {}) => {
  const { status, body, url } = await safeFetch(`${origin}${path}`, { ...options, ...more });
  return { status, text: body.toString(), path: url.slice(origin.length) };
};

test("S4 an answer is given with its status, unpacked where the server packs it", async () => {
  for (const path of ["/text", "/gzip", "/deflate", "/br"])
    expect(await read(path)).toEqual({ status: 200, text, path });
  expect(await read("/error")).toMatchObject({ status: 404, text: "none" });
  expect(await read("/empty")).toMatchObject({ status: 204, text: "" });
  expect(seen[0]?.headers["accept-encoding"]).toBe("identity");
});

test("S4 a large answer ends at the limit: announced, endless, or small and packed", async () => {
  for (const path of ["/announced", "/endless", "/gzip-bomb", "/br-bomb"])
    await expect(read(path)).rejects.toMatchObject({ code: "url_too_large" });
  expect(await read("/text", { maxBytes: text.length })).toMatchObject({ text });
  await expect(read("/text", { maxBytes: text.length - 1 })).rejects.toMatchObject({ code: "url_too_large" });
});

test("C2 where the status is enough, nothing that comes after it counts", async () => {
  const enough = { isStatusEnough: true };
  const paths = ["/announced", "/endless", "/gzip-bomb", "/slow", "/cut", "/not-gzip", "/cut-gzip", "/twice"];
  const found = await Promise.all(paths.map((path) => read(path, enough)));
  expect(found).toEqual(paths.map((path) => ({ status: 200, text: "", path })));
  expect(await read("/error", enough)).toMatchObject({ status: 404 });
  for (const path of ["/upgrade", "/noise"])
    await expect(read(path, enough)).rejects.toMatchObject({ code: "url_unreachable" });
});

test("S4 an answer that does not come, or not whole, or is none of HTTP, is url_unreachable", async () => {
  const paths = ["/cut", "/upgrade", "/noise", "/large-head", "/not-gzip", "/cut-gzip", "/twice"];
  for (const path of paths) await expect(read(path)).rejects.toMatchObject({ code: "url_unreachable" });
  for (const path of ["/silent", "/slow"])
    await expect(read(path, { timeoutMs: 200 })).rejects.toMatchObject({
      code: "url_unreachable",
      message: "The address did not answer in time.",
    });
  const silentNames = { resolve: () => new Promise<never>(() => undefined), timeoutMs: 100 };
  const named = safeFetch(origin.replace("127.0.0.1", "other.lan"), { ...options, ...silentNames });
  await expect(named).rejects.toMatchObject({ code: "url_unreachable" });
  const noNames = { resolve: () => Promise.resolve([]) };
  await expect(safeFetch("https://example.com/", { ...options, ...noNames })).rejects.toMatchObject({
    code: "url_unreachable",
  });
});

test("a certificate that is not trusted is told as such", async ({ onTestFinished }) => {
  const shut = createTlsServer(testCertificate);
  onTestFinished(() => void shut.close());
  await new Promise<void>((resolve) => shut.listen(0, "127.0.0.1", resolve));
  const { port } = shut.address() as AddressInfo;
  const fetched = safeFetch(`https://127.0.0.1:${port}/`, { ...options, allowPrivate: ["127.0.0.1"] });
  await expect(fetched).rejects.toMatchObject({
    code: "url_unreachable",
    message: expect.stringMatching(/cannot be reached: its certificate is self-signed/),
  });
});

test("S4 the caller's signal ends a request with its own reason", async () => {
  const controller = new AbortController();
  const answer = read("/slow", { signal: controller.signal });
  controller.abort(new Error("The client has gone."));
  await expect(answer).rejects.toThrow("The client has gone.");
  await expect(read("/text", { signal: controller.signal })).rejects.toThrow("The client has gone.");
});

test("S4 at most three redirects are followed, each checked like the first address", async () => {
  expect(await read("/three")).toEqual({ status: 200, text, path: "/text" });
  for (const path of ["/four", "/loop"])
    await expect(read(path)).rejects.toMatchObject({ code: "url_unreachable" });
  for (const path of ["/to-private", "/to-metadata", "/to-file", "/to-nowhere"])
    await expect(read(path, { allowHttp: true })).rejects.toMatchObject({ code: "url_refused" });
  expect(await read("/loop", { maxRedirects: 0 })).toEqual({ status: 308, text: "", path: "/loop" });
});

test("S4 headers of the caller go to no other origin, and not back again", async () => {
  await read("/away", { headers: { authorization: "Bearer secret" } });
  const secrets = seen.map(({ line, headers }) => [line, headers.authorization]);
  expect(secrets).toEqual([
    ["GET /away", "Bearer secret"],
    ["GET /back", undefined],
    ["GET /text", undefined],
  ]);
});

test("S4 a POST is sent once and follows no redirect", async () => {
  const sent = await read("/once", {
    method: "POST",
    body: "{}",
    headers: { "content-type": "application/json" },
  });
  expect(sent).toEqual({ status: 302, text: "", path: "/once" });
  expect(seen.map(({ line }) => line)).toEqual(["POST /once"]);
});
