import type { IncomingMessage } from "node:http";

/** Whether a page of another host asks a server on loopback: refused with 403 and no body. */
export function isForeignOrigin({ host, origin }: IncomingMessage["headers"]): boolean {
  if (!host || !origin) return false;
  const own = URL.parse(`http://${host}`);
  const other = URL.parse(origin);
  if (!own || !isLoopback(own.hostname) || !other?.host) return false;
  return other.port === "" ? other.hostname !== own.hostname : other.host !== own.host;
}

function isLoopback(hostname: string): boolean {
  return hostname === "localhost" || hostname === "[::1]" || hostname.startsWith("127.");
}
