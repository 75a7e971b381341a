import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { connect, type AddressInfo } from "node:net";
import { createHttpApp, handleTrpc, withDrainedBody, type DrainBounds } from "@atelier/server/api";
import { listTempFiles } from "@atelier/testing/pictures";
import { createTestServices, openOwner, type TestServices } from "@atelier/testing/services";
import { NodeNextRequest, NodeNextResponse } from "next/dist/server/base-http/node.js";
import { sendResponse } from "next/dist/server/send-response.js";
import {
  NextRequestAdapter,
  signalFromNodeResponse,
} from "next/dist/server/web/spec-extension/adapters/next-request.js";
import { afterAll, beforeAll, expect, test, vi } from "vitest";

let opened: TestServices;
let server: Server;
let port: number;
let apiKey: string;
/** Longer than a busy machine takes between two requests. */
const keepAliveMs = 60_000;
/** Undefined = the usual ones. */
let bounds: DrainBounds | undefined;

beforeAll(async () => {
  opened = await createTestServices();
  apiKey = (await openOwner(opened.services, "owner@example.com")).apiKey;
  const app = createHttpApp(opened.services);
  server = createServer((incoming, outgoing) => void answer(app, incoming, outgoing));
  server.keepAliveTimeout = keepAliveMs;
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  port = (server.address() as AddressInfo).port;
});
afterAll(async () => {
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
  await opened.close();
});

type App = ReturnType<typeof createHttpApp>;

/** As `next start` serves a route: its own request, its own way of sending the response. */
async function answer(app: App, incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
  const request = new NodeNextRequest(incoming);
  const adapted = NextRequestAdapter.fromNodeNextRequest(request, signalFromNodeResponse(outgoing));
  const kept = withDrainedBody(adapted, bounds);
  const isTrpc = incoming.url?.startsWith("/api/trpc");
  const response = await (isTrpc ? handleTrpc(opened.services, kept) : app.fetch(kept));
  await sendResponse(request, new NodeNextResponse(outgoing), response);
}

const boundary = "----the-boundary";
const filePart = (name: string, bytes: Buffer) =>
  Buffer.concat([
    Buffer.from(`--${boundary}\r\nContent-Disposition: form-data; name="${name}"; filename="a.png"\r\n\r\n`),
    bytes,
    Buffer.from("\r\n"),
  ]);
const end = Buffer.from(`--${boundary}--\r\n`);

interface Head {
  readonly path?: string;
  readonly type?: string;
  readonly key?: string;
}

/** Chunked, so that no server can know from its head how long the request is. */
function post(body: Buffer, { path = "/api/v1/uploads", type, key = apiKey }: Head = {}): Buffer {
  const lines = [
    `POST ${path} HTTP/1.1`,
    "Host: localhost",
    `Authorization: Bearer ${key}`,
    `Content-Type: ${type ?? `multipart/form-data; boundary=${boundary}`}`,
    "Transfer-Encoding: chunked",
  ];
  const head = Buffer.from(`${lines.join("\r\n")}\r\n\r\n${body.length.toString(16)}\r\n`);
  return Buffer.concat([head, body, Buffer.from("\r\n0\r\n\r\n")]);
}

const next = Buffer.from("GET /api/v1/openapi.json HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");

/** Sends the first request, and the next one on the same connection once that is answered; resolves with both statuses. */
function talk(first: Buffer): Promise<number[]> {
  return new Promise((resolve, reject) => {
    let received = "";
    const statuses = () => [...received.matchAll(/^HTTP\/1\.1 (\d+)/gm)].map(([, status]) => Number(status));
    const socket = connect(port, "127.0.0.1", () => socket.write(first));
    socket.on("data", (data) => {
      const before = statuses().length;
      received += data.toString("latin1");
      if (before === 0 && statuses().length === 1) socket.write(next);
    });
    socket.on("error", reject);
    socket.on("close", () => resolve(statuses()));
  });
}

const megabytes = (count: number) => Buffer.alloc(count * 1_048_576, 1);
const manyParts = Array.from({ length: 25 }, () => filePart("file", Buffer.alloc(1_000, 1)));

test.each<[string, number, () => Buffer]>([
  ["a file that is too large", 413, () => post(Buffer.concat([filePart("file", megabytes(40)), end]))],
  [
    "too many files in one piece",
    413,
    () => post(Buffer.concat([...manyParts, filePart("file", megabytes(3)), end])),
  ],
  ["a part of a wrong name", 400, () => post(Buffer.concat([filePart("fool", megabytes(5)), end]))],
  ["a file that is no picture", 415, () => post(Buffer.concat([filePart("file", megabytes(1)), end]))],
  ["a form without a boundary", 400, () => post(megabytes(5), { type: "multipart/form-data" })],
  ["a caller without a right", 401, () => post(megabytes(5), { key: "wrong" })],
  [
    "JSON that is too large",
    413,
    () => post(megabytes(5), { path: "/api/v1/jobs", type: "application/json" }),
  ],
  [
    "a mutation that is too large",
    413,
    () => post(megabytes(5), { path: "/api/trpc/jobs.submit", type: "application/json" }),
  ],
])("after %s was refused, the next request on the connection is answered", async (_what, status, first) => {
  expect(await talk(first())).toEqual([status, 200]);
  await vi.waitFor(async () => expect(await listTempFiles(opened.services)).toEqual([]));
});

test("a refused client that sends on and on loses its connection", async () => {
  bounds = { maxBytes: 2 * 1_048_576, maxMs: 60_000 };
  server.keepAliveTimeout = 1;
  try {
    const sent = talk(post(Buffer.concat([filePart("fool", megabytes(60)), end])));
    const statuses = await sent.catch(() => "reset");
    expect([[400], "reset"]).toContainEqual(statuses);
  } finally {
    bounds = undefined;
    server.keepAliveTimeout = keepAliveMs;
  }
});
