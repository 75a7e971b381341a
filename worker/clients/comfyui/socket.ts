import { WebSocket } from "ws";
import { z } from "zod";
import { type ComfyServer, parseJson, socketEndpoint } from "./http.ts";

/** Shorter than the 60 s after which proxies cut silent connections. */
const pingMs = 20_000;
const handshakeTimeoutMs = 3_000;
const maxPayload = 32 * 1024 * 1024;

interface SocketHandlers {
  onText(text: string): void;
  onBinary(bytes: Buffer): void;
  /** Called once, also when the socket never opened. */
  onClose(): void;
}

export interface ServerSocket {
  /** Resolves when the socket is open or has failed. */
  readonly settled: Promise<void>;
  /** Idempotent; `onClose` is not called for it. */
  close(): void;
}

/** Opens a socket for one client. A server keeps one socket per client id: a second one replaces the first. */
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
    // With this flag previews contain the prompt id.
    socket.send(JSON.stringify({ type: "feature_flags", data: { supports_preview_metadata: true } }));
    settled.resolve();
  });
  socket.on("message", (data: Buffer, isBinary) => {
    if (isClosed) return;
    if (isBinary) handlers.onBinary(data);
    else handlers.onText(data.toString("utf8"));
  });
  // The cause does not matter: the caller reads the history instead.
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

/** Opens a socket once and closes it: why it does not open; null when it does. */
export function socketFault(server: ComfyServer, timeoutMs: number): Promise<string | null> {
  const { url, headers } = socketEndpoint(server, "atelier-doctor");
  return new Promise((resolve) => {
    const socket = new WebSocket(url, { headers, handshakeTimeout: timeoutMs, maxPayload });
    const end = (fault: string | null) => {
      resolve(fault);
      socket.terminate();
    };
    socket.on("open", () => end(null));
    socket.on("error", (error) => end(error.message));
    socket.on("close", () => resolve("the connection was closed"));
  });
}

/** Sends pings, and closes the connection when the last one was not answered. */
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

const firstPauseMs = 500;
const maxPauseMs = 8_000;

/** A socket that opens again after each break, with growing pauses. */
export interface KeptSocket {
  /** Resolves when the first socket is open or has failed. */
  readonly settled: Promise<void>;
  /** False from a break until the next attempt to open it. */
  isUp(): boolean;
  /** Resets the pause after the next break to the shortest. */
  markHealthy(): void;
  close(): void;
}

export function keepSocket(server: ComfyServer, clientId: string, handlers: SocketHandlers): KeptSocket {
  let pauseMs = firstPauseMs;
  let isUp = true;
  let timer: NodeJS.Timeout | undefined;
  const open = (): ServerSocket => {
    isUp = true;
    return openSocket(server, clientId, { ...handlers, onClose });
  };
  const onClose = () => {
    isUp = false;
    timer = setTimeout(() => {
      socket = open();
    }, pauseMs);
    pauseMs = Math.min(pauseMs * 2, maxPauseMs);
    handlers.onClose();
  };
  let socket = open();
  return {
    settled: socket.settled,
    isUp: () => isUp,
    markHealthy() {
      pauseMs = firstPauseMs;
    },
    close() {
      clearTimeout(timer);
      socket.close();
    },
  };
}

const nodeId = z.union([z.string(), z.number()]).transform(String);
/** Null outside of a prompt, and from nodes that report for themselves. */
const promptId = z.string().nullish();

/** A node whose state cannot be read has made no progress. */
const nodeState = z
  .object({ value: z.number(), max: z.number(), state: z.string() })
  .catch({ value: 0, max: 0, state: "" });

const event = z.union([
  z.object({
    type: z.literal("feature_flags"),
    data: z.object({ supports_preview_metadata: z.unknown() }),
  }),
  z.object({ type: z.literal("execution_start"), data: z.object({ prompt_id: promptId }) }),
  z.object({
    type: z.literal("execution_cached"),
    data: z.object({ prompt_id: promptId, nodes: z.array(nodeId) }),
  }),
  z.object({
    type: z.literal("executing"),
    data: z.object({ prompt_id: promptId, node: nodeId.nullable() }),
  }),
  z.object({
    type: z.literal("progress"),
    data: z.object({ prompt_id: promptId, node: nodeId.nullish(), value: z.number(), max: z.number() }),
  }),
  z.object({
    type: z.literal("progress_state"),
    data: z.object({ prompt_id: promptId, nodes: z.record(z.string(), nodeState) }),
  }),
  z.object({ type: z.literal("executed"), data: z.object({ prompt_id: promptId, node: nodeId }) }),
  z.object({
    type: z
      .enum(["execution_success", "execution_error", "execution_interrupted"])
      .transform(() => "execution_end" as const),
    data: z.object({ prompt_id: promptId }),
  }),
]);

/** An event about a prompt, or the feature flags. The `executing` event just after connecting has no prompt id. */
export type PromptEvent = z.infer<typeof event>;

/** The event of a text frame; null for other events and for invalid frames. */
export function parseEvent(text: string): PromptEvent | null {
  const parsed = event.safeParse(parseJson(text));
  return parsed.success ? parsed.data : null;
}

/** A picture of the unfinished work. */
export interface PreviewFrame {
  readonly bytes: Uint8Array;
  /** Null where the frame does not contain it. */
  readonly promptId: string | null;
}

const withType = 1;
const withMetadata = 4;
const headerBytes = 8;

const metadata = z.object({ prompt_id: z.string().nullish() });

/** The preview of a binary frame; null for other and for invalid frames. */
export function parsePreview(frame: Buffer): PreviewFrame | null {
  if (frame.length <= headerBytes) return null;
  switch (frame.readUInt32BE(0)) {
    case withType:
      return { bytes: frame.subarray(headerBytes), promptId: null };
    case withMetadata:
      return parseWithMetadata(frame);
    default:
      return null;
  }
}

function parseWithMetadata(frame: Buffer): PreviewFrame | null {
  const start = headerBytes + frame.readUInt32BE(4);
  if (start >= frame.length) return null;
  const parsed = metadata.safeParse(parseJson(frame.subarray(headerBytes, start).toString("utf8")));
  if (!parsed.success) return null;
  return { bytes: frame.subarray(start), promptId: parsed.data.prompt_id ?? null };
}
