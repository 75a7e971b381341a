import { AppError, credentialsProblem, isAppError } from "@atelier/server/platform";

/** Address of a server or of a list of servers. Its secrets are kept apart, because the address is stored and logged. */
export interface ServerAddress {
  readonly url: string;
  /** Sent with each request. */
  readonly headers: Readonly<Record<string, string>>;
  /** Part of each request, without the question mark, as it was written; it may hold a token. */
  readonly query: string;
}

/**
 * Parses `host:port`, `http://user:password@host/prefix?token=…` or, with a base, a path on it. Throws `bad_request`.
 * Credentials become a header.
 */
export function parseAddress(text: string, base?: string): ServerAddress {
  const problem = credentialsProblem(text);
  if (problem !== null) throw new AppError("bad_request", `The address of a server ${problem}.`);
  const url = readUrl(text.trim(), base);
  const headers = url && credentialsOf(url);
  if (!headers || !/^https?:$/.test(url.protocol) || !url.hostname)
    throw new AppError("bad_request", `Not an address of a server: ${withoutSecrets(text)}`);
  return { url: url.origin + url.pathname.replace(/\/+$/, ""), headers, query: url.search.slice(1) };
}

/** The same without an error: the reason why the text is no address of a server. */
export function parseServerAddress(
  text: string,
): { server: ServerAddress; reason: null } | { server: null; reason: string } {
  try {
    return { server: parseAddress(text), reason: null };
  } catch (error) {
    if (!isAppError(error)) throw error;
    return { server: null, reason: error.message };
  }
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
