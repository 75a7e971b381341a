import { WebSocket } from "ws";
import type { ComfyServer } from "./comfy-server.ts";
import { socketEndpoint } from "./endpoint.ts";

/** Shorter than the 60 s after which proxies cut silent connections. */
const pingMs = 20_000;
const handshakeTimeoutMs = 3_000;
const maxPayload = 32 * 1024 * 1024;

export interface SocketHandlers {
  onText(text: string): void;
  onBinary(bytes: Buffer): void;
  /** Once, also when the socket never opened. */
  onClose(): void;
}

export interface ServerSocket {
  /** Resolves when it is open or never will be. */
  readonly settled: Promise<void>;
  /** Idempotent; `onClose` is not called for it. */
  close(): void;
}

/** The events of the prompts of one client. A server keeps one socket per client id: a second one replaces the first. */
export function openSocket(server: ComfyServer, clientId: string, handlers: SocketHandlers): ServerSocket {
  const { url, headers } = socketEndpoint(server, clientId);
  const socket = new WebSocket(url, {
    headers,
    handshakeTimeout: handshakeTimeoutMs,
    maxPayload,
    perMessageDeflate: false,
  });
  const settled = Promise.withResolvers<void>();
  let isClosed = false;
  const end = () => {
    stopPings();
    settled.resolve();
    if (isClosed) return;
    isClosed = true;
    handlers.onClose();
  };
  const stopPings = keepAlive(socket);
  socket.on("open", () => {
    // With it previews say whose they are.
    socket.send(JSON.stringify({ type: "feature_flags", data: { supports_preview_metadata: true } }));
    settled.resolve();
  });
  socket.on("message", (data: Buffer, isBinary) => {
    if (isClosed) return;
    if (isBinary) handlers.onBinary(data);
    else handlers.onText(data.toString("utf8"));
  });
  // What went wrong does not matter: the caller asks the server's history instead.
  socket.on("error", () => undefined);
  socket.on("close", end);
  return {
    settled: settled.promise,
    close() {
      isClosed = true;
      stopPings();
      socket.terminate();
    },
  };
}

/** Pings, and cuts the connection when the last ping was not answered. */
function keepAlive(socket: WebSocket): () => void {
  let isAnswered = true;
  socket.on("pong", () => {
    isAnswered = true;
  });
  const timer = setInterval(() => {
    if (socket.readyState !== WebSocket.OPEN) return;
    if (!isAnswered) return socket.terminate();
    isAnswered = false;
    socket.ping();
  }, pingMs);
  timer.unref();
  return () => clearInterval(timer);
}
