import type { IncomingMessage } from "node:http";
import { AppError } from "../platform/index.ts";
import type { Services } from "../services.ts";
import { refuseLack } from "./admin-factor.ts";
import { trustedOrigins } from "./auth.ts";
import { type Caller, refuseGuest } from "./caller.ts";
import { findClient } from "./client-users.ts";
import { requireRight } from "./key-rights.ts";
import { resolveCaller } from "./resolve-caller.ts";

/** Of whom a connection is, and of whom it is told. */
export interface SocketReader {
  readonly caller: Caller;
  /** An admin's key may name another user by `?user_id=`. */
  readonly ownerId: string;
}

export interface SocketRequest {
  readonly request: Pick<IncomingMessage, "headers" | "url">;
  /** A worker's port is no part of the studio for browsers: there only keys count. */
  readonly credentials: "key" | "key_or_session";
}

/**
 * Who asks for a connection that stays open. Call it again from time to time, since keys and sessions end. Throws
 * `forbidden` for a page of another site, for one that hides behind a cookie and for guests, `unauthorized`, `not_found`.
 */
export async function readSocketCaller(
  services: Services,
  { request, credentials }: SocketRequest,
): Promise<SocketReader> {
  const headers = readHeaders(services, request, credentials);
  const caller = await resolveCaller(services, headers);
  if (!caller) throw new AppError("unauthorized", "Send an API key: docs/clients.md says how.");
  requireRight(caller, "read");
  refuseGuest(caller);
  const name = URL.parse(request.url ?? "", "http://studio")?.searchParams.get("user_id") ?? null;
  if (name !== null && caller.via !== "session") refuseLack(caller);
  if (!caller.isAdmin || caller.via === "session" || name === null) return { caller, ownerId: caller.userId };
  const named = await findClient(services, name);
  if (!named) throw new AppError("not_found");
  return { caller, ownerId: named.userId };
}

function readHeaders(
  { env }: Services,
  request: SocketRequest["request"],
  credentials: SocketRequest["credentials"],
): Headers {
  const headers = new Headers();
  for (const [name, value] of Object.entries(request.headers))
    if (typeof value === "string") headers.set(name, value);
  const offered = (headers.get("sec-websocket-protocol") ?? "").split(",").map((name) => name.trim());
  const key = offered.find((name) => name.startsWith("bearer."))?.slice("bearer.".length);
  if (key !== undefined && !headers.has("authorization")) headers.set("authorization", `Bearer ${key}`);
  if (credentials === "key") headers.delete("cookie");
  const origin = headers.get("origin");
  const isSame =
    origin === null
      ? // Programs send none; a cookie without one may be a browser's that hides it.
        headers.has("authorization") || !headers.has("cookie")
      : trustedOrigins(env, new Request("http://studio/", { headers })).includes(origin);
  if (!isSame) throw new AppError("forbidden", "The request may come from another site.");
  return headers;
}
