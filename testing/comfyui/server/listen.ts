import { createServer, type IncomingMessage, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import type { Duplex } from "node:stream";
import { WebSocketServer } from "ws";
import { innerPath } from "../http/answer-call.ts";
import { empty, proxyPage, type Answer } from "../http/answer.ts";
import { isForeignOrigin } from "../http/check-origin.ts";
import { isAllowed, serveRequest } from "../http/serve-request.ts";
import { acceptSocket } from "../socket/accept-socket.ts";
import type { Comfy } from "./comfy.ts";

/** A port that can be closed and opened again. */
export interface Listener {
  readonly port: number;
  open(): Promise<void>;
  /** Breaks every connection and refuses new ones. */
  close(): Promise<void>;
}

/** Listens on 127.0.0.1. */
export async function openListener(comfy: Comfy): Promise<Listener> {
  const streams = new Set<Duplex>();
  let server = makeServer(comfy, streams);
  await listen(server, comfy.options.port);
  const { port } = addressOf(server);
  return {
    port,
    open: async () => {
      server = makeServer(comfy, streams);
      await listen(server, port);
    },
    close: async () => {
      for (const stream of streams) stream.destroy();
      if (server.listening) await new Promise((resolve) => server.close(resolve));
    },
  };
}

function makeServer(comfy: Comfy, streams: Set<Duplex>): Server {
  const server = createServer((request, response) => {
    serveRequest(comfy, request, response).catch(() => request.socket.destroy());
  });
  const sockets = new WebSocketServer({ noServer: true });
  server.on("connection", (stream) => {
    streams.add(stream);
    stream.once("close", () => streams.delete(stream));
  });
  server.on("upgrade", (request, stream, head) => {
    const url = new URL(request.url ?? "/", "http://simulator");
    const clientId = url.searchParams.get("clientId");
    const refusal = refuseUpgrade(comfy, request, clientId);
    if (refusal) return writeRaw(stream, refusal);
    sockets.handleUpgrade(request, stream, head, (socket) => acceptSocket(comfy, socket, clientId));
  });
  return server;
}

function refuseUpgrade(comfy: Comfy, request: IncomingMessage, clientId: string | null): Answer | null {
  const { pathname } = new URL(request.url ?? "/", "http://simulator");
  if (innerPath(pathname, comfy.options.basePath) !== "/ws") return proxyPage(404);
  if (!isAllowed(comfy, request)) return proxyPage(401);
  if (isForeignOrigin(request.headers)) return empty(403);
  if (comfy.faults.take("socket-refused")) return proxyPage(502);
  return clientId !== null && comfy.session.refusedClients.has(clientId) ? proxyPage(502) : null;
}

function writeRaw(stream: Duplex, { status, body }: Answer): void {
  const head = [
    `HTTP/1.1 ${status} Refused`,
    `Content-Length: ${Buffer.byteLength(body)}`,
    "Connection: close",
  ];
  stream.end(`${head.join("\r\n")}\r\n\r\n${body.toString()}`);
}

function listen(server: Server, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, "127.0.0.1", resolve);
  });
}

function addressOf(server: Server): AddressInfo {
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("the simulator listens on no port");
  return address;
}
