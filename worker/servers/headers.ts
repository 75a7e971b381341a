import type { NodeProblem } from "@atelier/server/db";
import { z } from "zod";
import { parseServerAddress, type ServerAddress } from "./address.ts";

export type Headers = Readonly<Record<string, string>>;

/** Headers for every server at an address and below its path. */
interface HeaderRule {
  readonly url: string;
  readonly headers: Headers;
}

/** The rules of SERVER_HEADERS, and the entries that cannot be used. */
export interface HeaderRules {
  readonly rules: readonly HeaderRule[];
  readonly problems: readonly NodeProblem[];
}

const what = "SERVER_HEADERS";
const schema = z.record(z.string(), z.record(z.string(), z.string()));
const formReason =
  'must be a JSON object of addresses, each with its headers, like {"https://gpu.example.org":{"Authorization":"Bearer …"}}';

/** Parses SERVER_HEADERS. An entry that cannot be used is a problem, and the others count. No reason holds a value. */
export function parseServerHeaders(text: string | undefined): HeaderRules {
  if (text === undefined) return { rules: [], problems: [] };
  const parsed = schema.safeParse(parseJson(text));
  if (!parsed.success) return { rules: [], problems: [{ what, reason: formReason }] };
  const rules: HeaderRule[] = [];
  const problems: NodeProblem[] = [];
  for (const [address, headers] of Object.entries(parsed.data)) {
    const { server, reason } = parseServerAddress(address);
    const fault = server ? headerFault(headers) : reason;
    if (!server || fault !== null) problems.push({ what, reason: fault ?? reason ?? "" });
    else rules.push({ url: server.url, headers: { ...server.headers, ...lowerNames(headers) } });
  }
  return { rules, problems };
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Names of HTTP, and values that can be sent; each name of a connection belongs to the connection itself. */
const namePattern = /^[!#$%&'*+.^_`|~0-9a-z-]{1,100}$/i;
const valuePattern = /^[\t\x20-\x7e\x80-\xff]{1,8192}$/;
const ofConnection =
  /^(connection|content-length|content-type|expect|host|keep-alive|proxy-connection|te|trailer|transfer-encoding|upgrade|sec-websocket-.*)$/i;

/** Why headers cannot be sent, with their names only; null when they can. */
export function headerFault(headers: Headers): string | null {
  for (const [name, value] of Object.entries(headers)) {
    if (!namePattern.test(name)) return "has a header whose name HTTP does not allow";
    if (ofConnection.test(name)) return `has the header ${name}, which each request sets itself`;
    if (!valuePattern.test(value.trim())) return `has a value for ${name} that no header can hold`;
  }
  return null;
}

/** Lower case, because a header of the same name in another spelling would be sent twice. */
export function lowerNames(headers: Headers): Headers {
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value.trim()]),
  );
}

/** The server with the headers of every rule for it; the rule with the longest path wins, then the address itself. */
export function withRules<T extends ServerAddress>(server: T, rules: readonly HeaderRule[]): T {
  const fitting = rules
    .filter(({ url }) => server.url === url || server.url.startsWith(`${url}/`))
    .toSorted((a, b) => a.url.length - b.url.length);
  if (fitting.length === 0) return server;
  const given: Headers = Object.assign({}, ...fitting.map(({ headers }) => headers));
  return { ...server, headers: { ...server.headers, ...given } };
}
