import { randomUUID } from "node:crypto";
import type { RawData, WebSocket } from "ws";
import { isObject, objectOf, parseJson } from "./json.ts";
import type { Comfy } from "./server/comfy.ts";
import type { Client } from "./server/session.ts";
import { statusOf } from "./socket/send.ts";

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
