import { AppError } from "@atelier/server/platform";

/** Where a server is reached. The credentials of an address become a header: the address goes into rows and logs. */
export interface ServerAddress {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
}

/** Parses `host:port`, `http://user:password@host/prefix` or, with a base, a path on it. Throws `bad_request`. */
export function parseAddress(text: string, base?: string): ServerAddress {
  const url = readUrl(text.trim(), base);
  if (!url || !/^https?:$/.test(url.protocol) || !url.hostname)
    throw new AppError("bad_request", `Not an address of a server: ${withoutCredentials(text)}`);
  return { url: url.origin + url.pathname.replace(/\/+$/, ""), headers: credentialsOf(url) };
}

/** Host and port, and the path where there is one: `192.168.0.107:8188`, `gpu.example.org:443/comfy/1`. */
export function labelOf(url: string): string {
  const { hostname, port, protocol, pathname } = new URL(url);
  return `${hostname}:${port || defaultPort(protocol)}${pathname.replace(/\/+$/, "")}`;
}

export function withoutCredentials(text: string): string {
  return text.replace(/\/\/[^/@]*@/, "//");
}

function readUrl(text: string, base?: string): URL | null {
  if (base && text.startsWith("/")) return new URL(text, base);
  const full = text.includes("://") ? text : `http://${text}`;
  return URL.canParse(full) ? new URL(full) : null;
}

function credentialsOf({ username, password }: URL): Record<string, string> {
  if (!username && !password) return {};
  const pair = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`;
  return { authorization: `Basic ${Buffer.from(pair).toString("base64")}` };
}

function defaultPort(protocol: string): string {
  return protocol === "https:" ? "443" : "80";
}
