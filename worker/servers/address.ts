import { AppError } from "@atelier/server/platform";

/** Address of a server. Its credentials become a header, because the address is stored and logged. */
export interface ServerAddress {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
}

/** Address of a list of servers. */
export interface ListAddress extends ServerAddress {
  /** The query with its question mark, or empty. It may hold a secret, so it is neither stored nor logged. */
  readonly search: string;
}

/**
 * Parses `host:port`, `http://user:password@host/prefix` or, with a base, a path on it. Throws `bad_request`, also for a
 * query, because routes are appended to the address.
 */
export function parseAddress(text: string, base?: string): ServerAddress {
  const { search, ...address } = parseListAddress(text, base);
  if (search)
    throw new AppError("bad_request", `An address of a server has no query: ${withoutSecrets(text)}`);
  return address;
}

/** The same for the address of a list, which may have a query. */
export function parseListAddress(text: string, base?: string): ListAddress {
  const url = readUrl(text.trim(), base);
  const headers = url && credentialsOf(url);
  if (!headers || !/^https?:$/.test(url.protocol) || !url.hostname)
    throw new AppError("bad_request", `Not an address of a server: ${withoutSecrets(text)}`);
  return { url: url.origin + url.pathname.replace(/\/+$/, ""), headers, search: url.search };
}

/**
 * An address for error texts. A password may hold any character, so everything before the last @ is left out, and the
 * query too; everything is left out where an @ follows a question mark.
 */
export function withoutSecrets(text: string): string {
  if (/\?.*@/s.test(text)) return "(not shown)";
  return text.replace(/^((?:nginx-plus:)?[a-z][a-z0-9+.-]*:\/\/)?.*@/is, "$1").replace(/\?.*$/s, "");
}

function readUrl(text: string, base?: string): URL | null {
  if (base && text.startsWith("/")) return URL.parse(text, base);
  return URL.parse(text.includes("://") ? text : `http://${text}`);
}

/** Null when an escape sequence is invalid. */
function credentialsOf({ username, password }: URL): Record<string, string> | null {
  if (!username && !password) return {};
  const pair = decode(`${username}:${password}`);
  return pair === null ? null : { authorization: `Basic ${Buffer.from(pair).toString("base64")}` };
}

function decode(escaped: string): string | null {
  try {
    return decodeURIComponent(escaped);
  } catch {
    return null;
  }
}
