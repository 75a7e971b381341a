import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import { WebSocketServer } from "ws";
import { innerPath } from "../http/answer-call.ts";
import { empty, proxyPage, type Answer } from "../http/answer.ts";
import { isForeignOrigin } from "../http/check-origin.ts";
import { isAllowed, serveRequest } from "../http/serve.ts";
import { acceptSocket } from "../socket.ts";
import type { Comfy } from "./comfy.ts";
import { openPort, type Port } from "./open-port.ts";

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
  if (!isAllowed(comfy, request)) return proxyPage(401);
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
