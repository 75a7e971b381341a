import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { Duplex } from "node:stream";
import { WebSocketServer } from "ws";
import { type Answer, empty, proxyPage } from "../http/answer.ts";
import { innerPath, isForeignOrigin, refuseStranger, serveRequest } from "../http/serve.ts";
import { acceptSocket } from "../socket.ts";
import type { Comfy } from "./session.ts";

/** A port of 127.0.0.1 that can be closed and opened again. */
interface Port {
  readonly port: number;
  open(): Promise<void>;
  /** Breaks every connection and refuses new ones. */
  close(): Promise<void>;
}

export interface PortHandlers {
  request(request: IncomingMessage, response: ServerResponse): Promise<void>;
  upgrade(request: IncomingMessage, stream: Duplex, head: Buffer): void;
}

/** Listens; 0 takes a free port. */
export async function openPort(wanted: number, handlers: PortHandlers): Promise<Port> {
  const streams = new Set<Duplex>();
  let server = await listen(makeServer(handlers, streams), wanted);
  const address = server.address();
  if (!isAddress(address)) throw new Error("the simulator listens on no port");
  const { port } = address;
  return {
    port,
    open: async () => {
      server = await listen(makeServer(handlers, streams), port);
    },
    close: async () => {
      for (const stream of streams) stream.destroy();
      if (server.listening) await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** As aiohttp keeps a connection without a request; it must not close one that a machine which stood still is about to use. */
const keptMs = 75_000;

function makeServer(handlers: PortHandlers, streams: Set<Duplex>): Server {
  const server = createServer({ keepAliveTimeout: keptMs }, (request, response) => {
    // A broken handler looks like a broken server.
    handlers.request(request, response).catch(() => request.socket.destroy());
  });
  server.on("connection", (stream) => {
    streams.add(stream);
    stream.once("close", () => streams.delete(stream));
  });
  server.on("upgrade", (request, stream, head) => {
    // From here on nobody else listens for it: a client that resets the connection would end the process.
    stream.on("error", () => stream.destroy());
    handlers.upgrade(request, stream, head);
  });
  return server;
}

function listen(server: Server, port: number): Promise<Server> {
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, "127.0.0.1", () => resolve(server));
  });
}

function isAddress(address: string | AddressInfo | null): address is AddressInfo {
  return typeof address === "object" && address !== null;
}

/** Serves requests and sockets on 127.0.0.1. */
export function listenFor(comfy: Comfy): Promise<Port> {
  const sockets = new WebSocketServer({ noServer: true });
  return openPort(comfy.options.port, {
    request: (request, response) => serveRequest(comfy, request, response),
    upgrade: (request, stream, head) => {
      const { pathname, searchParams } = new URL(request.url ?? "/", "http://simulator");
      const clientId = searchParams.get("clientId");
      const refusal = refuseUpgrade(comfy, request, { pathname, clientId });
      if (refusal) return writeRaw(stream, refusal);
      sockets.handleUpgrade(request, stream, head, (socket) => acceptSocket(comfy, socket, clientId));
    },
  });
}

function refuseUpgrade(
  comfy: Comfy,
  request: IncomingMessage,
  { pathname, clientId }: { pathname: string; clientId: string | null },
): Answer | null {
  if (innerPath(pathname, comfy.options.basePath) !== "/ws") return proxyPage(404);
  const refusal = refuseStranger(comfy.options, request);
  if (refusal) return refusal;
  if (isForeignOrigin(request.headers)) return empty(403);
  if (comfy.faults.take("socket-refused")) return proxyPage(502);
  return clientId !== null && comfy.session.refusedClients.has(clientId) ? proxyPage(502) : null;
}

function writeRaw(stream: Duplex, { status, body }: Answer): void {
  const lines = [
    `HTTP/1.1 ${status} Refused`,
    `Content-Length: ${Buffer.byteLength(body)}`,
    "Connection: close",
  ];
  stream.end(`${lines.join("\r\n")}\r\n\r\n${body.toString()}`);
}
