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

const firstPauseMs = 500;
const longestPauseMs = 8_000;

/** A socket that is opened again whenever it breaks, after growing pauses. */
export interface KeptSocket {
  /** Resolves when the first one is open or cannot be opened. */
  readonly settled: Promise<void>;
  /** False from a break until the next try to open it. */
  isUp(): boolean;
  /** Tells that it works, so that the next pause is a short one. */
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
    pauseMs = Math.min(pauseMs * 2, longestPauseMs);
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
const promptId = z.string().optional();

const nodeState = z.object({ value: z.number(), max: z.number(), state: z.string() });

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

/** What a server tells about a prompt or, once, of itself. Just after connecting, `executing` comes without the id of the prompt. */
export type PromptEvent = z.infer<typeof event>;

/** The event in a text frame; null for those that are about no prompt and for what cannot be read. */
export function parseEvent(text: string): PromptEvent | null {
  const parsed = event.safeParse(parseJson(text));
  return parsed.success ? parsed.data : null;
}

/** A picture of the unfinished work. */
export interface PreviewFrame {
  readonly bytes: Uint8Array;
  /** Null where the frame does not say whose it is. */
  readonly promptId: string | null;
}

const withType = 1;
const withMetadata = 4;
const headerBytes = 8;

const metadata = z.object({ prompt_id: z.string().nullish() });

/** The preview in a binary frame; null for frames of other kinds and for what cannot be read. */
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
