import { type IncomingMessage, STATUS_CODES } from "node:http";
import type { Duplex } from "node:stream";

/** Where the assistant's answers are sent over WebSockets. */
export const pushPath = "/api/ws";

/** Where programs that were written for another server listen to their jobs, by socket.io. */
export const taskUpdatesPath = "/socket.io/";

/** The path of a request, also of one in absolute form, as it was written. */
export function pathOfTarget({ url = "" }: Pick<IncomingMessage, "url">): string {
  return url.replace(/^https?:\/\/[^/?#]*/i, "").split("?", 1)[0] ?? "";
}

/**
 * Whether an HTTP server gives the socket of this request away. Any other upgrade, as the `h2c` of a client that would
 * also speak HTTP/2, is answered as the request that it is.
 */
export function isUpgrade({ headers }: Pick<IncomingMessage, "headers">): boolean {
  return /(?:^|[\s,])websocket(?:$|[\s,/])/i.test(headers.upgrade ?? "");
}

/** A client that does not close its side keeps the socket this long. */
const lingerMs = 1_000;

export interface RawAnswer {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

/**
 * Answers on a socket that an HTTP server has given away, and closes it: no time limit of the server applies to it any
 * more, and the client may leave its side open.
 */
export function answerRaw(socket: Duplex, { status, headers = {}, body = "" }: RawAnswer): void {
  const close = () => socket.destroy();
  socket.on("error", close);
  const all = { ...headers, connection: "close", "content-length": String(Buffer.byteLength(body)) };
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
  // Read to the end: a close with unread bytes is a reset, which can overtake the answer.
  socket.resume();
  socket.end(`HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ""}\r\n${lines.join("")}\r\n${body}`);
  const late = setTimeout(close, lingerMs);
  socket.once("close", () => clearTimeout(late));
}
