import { randomUUID } from "node:crypto";
import type { RawData, WebSocket } from "ws";
import { isObject, objectOf, parseJson } from "./options.ts";
import { type Client, type Comfy, queueRemaining, type Session } from "./server/session.ts";

export interface Preview {
  readonly format: "jpeg" | "png";
  readonly bytes: Buffer;
}

const previewImage = 1;
const shownText = 3;
const previewImageWithMetadata = 4;
const imageTypes = { jpeg: 1, png: 2 } as const;

/** Binary event 1: event, image type, image; it names no prompt. */
export function plainFrame(preview: Preview): Buffer {
  return Buffer.concat([number32(previewImage), number32(imageTypes[preview.format]), preview.bytes]);
}

/** Binary event 4: event, length of the JSON, JSON, image; only for clients that asked for it. */
export function metadataFrame(preview: Preview, promptId: string, nodeId: string): Buffer {
  const meta = {
    node_id: nodeId,
    prompt_id: promptId,
    display_node_id: nodeId,
    parent_node_id: null,
    real_node_id: nodeId,
    image_type: `image/${preview.format}`,
  };
  const json = Buffer.from(JSON.stringify(meta));
  return Buffer.concat([number32(previewImageWithMetadata), number32(json.length), json, preview.bytes]);
}

/** Binary event 3: event, length of the node's id, id, text. */
export function textFrame(nodeId: string, text: string): Buffer {
  const id = Buffer.from(nodeId);
  return Buffer.concat([number32(shownText), number32(id.length), id, Buffer.from(text)]);
}

function number32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
}

/** Sends a message to one client; nothing when it is not connected. */
export function sendTo(session: Session, clientId: string, message: unknown): void {
  deliver(session.clients.get(clientId), JSON.stringify(message));
}

/** Sends bytes to one client. */
export function sendBytes(session: Session, clientId: string, bytes: Buffer): void {
  deliver(session.clients.get(clientId), bytes);
}

export function broadcast(session: Session, message: unknown): void {
  const text = JSON.stringify(message);
  for (const client of session.clients.values()) deliver(client, text);
}

export function broadcastBytes(session: Session, bytes: Buffer): void {
  for (const client of session.clients.values()) deliver(client, bytes);
}

/** Tells everyone how many prompts are left. */
export function broadcastStatus(session: Session): void {
  broadcast(session, { type: "status", data: { status: statusOf(session) } });
}

function statusOf(session: Session) {
  return { exec_info: { queue_remaining: queueRemaining(session) } };
}

function deliver(client: Client | undefined, data: string | Buffer): void {
  if (client && client.socket.readyState === client.socket.OPEN) client.socket.send(data);
}

/** What `/features` and the feature flags tell. */
export const serverFeatures = {
  supports_preview_metadata: true,
  max_upload_size: 104_857_600,
  extension: { manager: { supports_v4: true } },
};

/** Registers a socket: a second one with the same id replaces the first, which stays open and hears nothing. */
export function acceptSocket(comfy: Comfy, socket: WebSocket, clientId: string | null): void {
  const { session } = comfy;
  const sid = clientId || randomUUID().replaceAll("-", "");
  const client: Client = { socket, supportsPreviewMetadata: false };
  session.clients.set(sid, client);
  comfy.ledger.counts.sockets += 1;
  const say = (message: unknown) => socket.send(JSON.stringify(message));
  if (!comfy.faults.has("socket-silent")) {
    say({ type: "status", data: { status: statusOf(session), sid } });
    if (session.running?.clientId === sid && session.currentNode !== null) {
      say({ type: "executing", data: { node: session.currentNode } });
    }
  }
  let isFirst = true;
  socket.on("message", (data: RawData, isBinary: boolean) => {
    if (isFirst && !isBinary && readFlags(data, client)) say({ type: "feature_flags", data: serverFeatures });
    isFirst = false;
  });
  socket.on("close", () => {
    if (session.clients.get(sid) === client) session.clients.delete(sid);
  });
  socket.on("error", () => socket.terminate());
}

function textOf(data: RawData): string {
  if (Array.isArray(data)) return Buffer.concat(data).toString();
  return Buffer.from(new Uint8Array(data)).toString();
}

function readFlags(data: RawData, client: Client): boolean {
  const message = parseJson(textOf(data));
  if (!isObject(message) || message.type !== "feature_flags") return false;
  client.supportsPreviewMetadata = objectOf(message.data).supports_preview_metadata === true;
  return true;
}
