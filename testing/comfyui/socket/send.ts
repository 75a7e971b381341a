import type { Client, Session } from "../server/session.ts";
import { queueRemaining } from "../server/session.ts";

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

export function statusOf(session: Session) {
  return { exec_info: { queue_remaining: queueRemaining(session) } };
}

function deliver(client: Client | undefined, data: string | Buffer): void {
  if (client && client.socket.readyState === client.socket.OPEN) client.socket.send(data);
}
