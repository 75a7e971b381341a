import { once } from "node:events";
import type { IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, describe, expect, test, vi } from "vitest";
import { type WebSocket, WebSocketServer } from "ws";
import { openSocket, parseEvent, parsePreview, type ServerSocket } from "./socket.ts";
import { limitRate } from "./watch.ts";

describe("parse preview", () => {
  const jpeg = Buffer.from("ffd8ffe0", "hex");
  const uint = (value: number) => {
    const bytes = Buffer.alloc(4);
    bytes.writeUInt32BE(value);
    return bytes;
  };
  const withMetadata = (json: string) =>
    Buffer.concat([uint(4), uint(Buffer.byteLength(json)), Buffer.from(json), jpeg]);

  test("A12 a preview of type 1 holds the picture after its format", () => {
    expect(parsePreview(Buffer.concat([uint(1), uint(1), jpeg]))).toEqual({ bytes: jpeg, promptId: null });
  });

  test("A12 a preview of type 4 says whose it is", () => {
    const frame = withMetadata(JSON.stringify({ node_id: "3", prompt_id: "p", image_type: "image/jpeg" }));
    expect(parsePreview(frame)).toEqual({ bytes: jpeg, promptId: "p" });
  });

  test.each([
    ["text of type 3", Buffer.concat([uint(3), uint(1), Buffer.from("1hello")])],
    ["an unknown type", Buffer.concat([uint(9), uint(1), jpeg])],
    ["a frame without a picture", Buffer.concat([uint(1), uint(1)])],
    ["a length beyond the frame", Buffer.concat([uint(4), uint(0xffffffff), jpeg])],
    ["metadata that is no JSON", withMetadata("{")],
    ["an empty frame", Buffer.alloc(0)],
  ])("A12 %s is no preview", (_name, frame) => {
    expect(parsePreview(frame)).toBeNull();
  });

  test("A12 at most five previews a second are passed on", () => {
    let nowMs = 0;
    const passed: number[] = [];
    const preview = limitRate(
      200,
      (value: number) => passed.push(value),
      () => nowMs,
    );
    for (; nowMs < 1_000; nowMs += 10) preview(nowMs);
    expect(passed).toEqual([0, 200, 400, 600, 800]);
  });
});

describe("parse event", () => {
  const node = { value: 3, max: 8, state: "running" };
  const unread = { value: 0, max: 0, state: "" };

  test.each([
    [
      "a step without a prompt",
      { type: "progress", data: { prompt_id: null, node: null, value: 1, max: 4 } },
    ],
    ["an end without one", { type: "executing", data: { prompt_id: null, node: null } }],
  ])("A12 %s is read", (_name, event) => {
    expect(parseEvent(JSON.stringify(event))).toEqual(event);
  });

  test("A12 one node in a form of its own hides the progress of none", () => {
    const text = `{"type":"progress_state","data":{"prompt_id":"p","nodes":{"3":${JSON.stringify(node)},"4":{"value":NaN,"max":1,"state":"pending"},"5":null}}}`;
    expect(parseEvent(text)).toMatchObject({ data: { nodes: { 3: node, 4: unread, 5: unread } } });
  });
});

describe("socket", () => {
  const servers: WebSocketServer[] = [];
  const sockets: ServerSocket[] = [];
  afterEach(() => {
    vi.useRealTimers();
    for (const socket of sockets.splice(0)) socket.close();
    for (const server of servers.splice(0)) {
      for (const client of server.clients) client.terminate();
      server.close();
    }
  });

  /** vi.waitUntil would move the timers that the test holds. */
  async function until(isSo: () => boolean): Promise<void> {
    while (!isSo()) await new Promise(setImmediate);
  }

  interface Accepted {
    readonly client: WebSocket;
    readonly request: IncomingMessage;
  }

  /** A server, the first client that it accepts, and our side of the connection. */
  async function connect(autoPong: boolean) {
    const server = new WebSocketServer({ port: 0, host: "127.0.0.1", autoPong });
    servers.push(server);
    await once(server, "listening");
    const { port } = server.address() as AddressInfo;
    const accepted = new Promise<Accepted>((resolve) =>
      server.once("connection", (client, request) => resolve({ client, request })),
    );
    const texts: string[] = [];
    const onClose = vi.fn<() => void>();
    const handlers = { onText: (text: string) => texts.push(text), onBinary: () => undefined, onClose };
    const socket = openSocket({ url: `http://me:secret@127.0.0.1:${port}/comfy/` }, "client-1", handlers);
    sockets.push(socket);
    const { client, request } = await accepted;
    return { socket, client, request, texts, onClose };
  }

  test("A12 the socket is opened below the base path, with credentials and without an Origin", async () => {
    const { client, request } = await connect(true);
    expect(request.url).toBe("/comfy/ws?clientId=client-1");
    expect(request.headers.authorization).toBe(`Basic ${btoa("me:secret")}`);
    expect(request.headers).not.toHaveProperty("origin");
    const [first] = (await once(client, "message")) as [Buffer];
    expect(JSON.parse(first.toString())).toEqual({
      type: "feature_flags",
      data: { supports_preview_metadata: true },
    });
  });

  test("F26 a silent connection is pinged every 20 s and kept while it answers", async () => {
    vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] });
    const { socket, client, texts, onClose } = await connect(true);
    await socket.settled;
    for (let round = 0; round < 3; round++) {
      vi.advanceTimersByTime(20_000);
      await once(client, "ping");
      // The answer to the ping is on its way before this message is.
      client.send("after the pong");
      await until(() => texts.length === round + 1);
    }
    expect(onClose).not.toHaveBeenCalled();
  });

  test("F26 a connection that no longer answers pings counts as broken", async () => {
    vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] });
    const { socket, client, onClose } = await connect(false);
    await socket.settled;
    vi.advanceTimersByTime(20_000);
    await once(client, "ping");
    vi.advanceTimersByTime(20_000);
    await until(() => onClose.mock.calls.length > 0);
    expect(onClose).toHaveBeenCalledOnce();
  });

  test("F26 a socket that cannot be opened settles as broken", async () => {
    const onClose = vi.fn<() => void>();
    const server = new WebSocketServer({ port: 0, host: "127.0.0.1" });
    await once(server, "listening");
    const { port } = server.address() as AddressInfo;
    server.close();
    await once(server, "close");
    const handlers = { onText: () => undefined, onBinary: () => undefined, onClose };
    const socket = openSocket({ url: `http://127.0.0.1:${port}` }, "client-1", handlers);
    await socket.settled;
    expect(onClose).toHaveBeenCalledOnce();
  });

  test("A12 closing is silent", async () => {
    const { socket, client, onClose } = await connect(true);
    socket.close();
    await once(client, "close");
    expect(onClose).not.toHaveBeenCalled();
  });
});
