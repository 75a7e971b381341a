import { AppError } from "@atelier/server/platform";
import type { ComfyServer } from "./comfy-server.ts";

export interface Endpoint {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
}

export interface Route {
  /** Below the base address, without a slash in front; its parts are encoded already. */
  readonly path: string;
  readonly query?: Readonly<Record<string, string>>;
}

/** Where a route of the server is asked: base path and route joined, credentials moved from the address to a header. */
export function httpEndpoint(server: ComfyServer, route: Route): Endpoint {
  const url = baseOf(server);
  const headers = { ...credentialsOf(url), ...server.headers };
  url.username = "";
  url.password = "";
  url.hash = "";
  url.pathname = `${url.pathname.replace(/\/+$/, "")}/${route.path}`;
  url.search = new URLSearchParams(route.query).toString();
  return { url: url.href, headers };
}

/** The address of the server's socket: `ws:` for `http:`, `wss:` for `https:`. */
export function socketEndpoint(server: ComfyServer, clientId: string): Endpoint {
  const { url, headers } = httpEndpoint(server, { path: "ws", query: { clientId } });
  return { url: url.replace(/^http/, "ws"), headers };
}

function baseOf({ url }: ComfyServer): URL {
  const base = URL.canParse(url) ? new URL(url) : null;
  if (base && /^https?:$/.test(base.protocol)) return base;
  throw new AppError("bad_request", "The address of a ComfyUI server starts with http:// or https://.");
}

function credentialsOf({ username, password }: URL): Record<string, string> {
  if (!username && !password) return {};
  const pair = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`;
  return { authorization: `Basic ${Buffer.from(pair).toString("base64")}` };
}
