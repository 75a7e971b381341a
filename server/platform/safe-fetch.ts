import { lookup as systemLookup } from "node:dns";
import { type IncomingMessage, request as httpRequest } from "node:http";
import { request as httpsRequest } from "node:https";
import { isIP, type LookupFunction } from "node:net";
import { AppError, isAppError } from "./errors.ts";
import { isPublicAddress } from "./public-addresses.ts";

/** Finds all addresses of a name, like `dns.lookup` with `all`. */
export type Resolve = (
  hostname: string,
  callback: (error: Error | null, addresses: readonly { address: string; family: number }[]) => void,
) => void;

export interface SafeFetchOptions {
  readonly signal: AbortSignal;
  /** For the whole, redirects and the body included. */
  readonly timeoutMs: number;
  /** Of the body. */
  readonly maxBytes: number;
  readonly method?: "GET" | "POST";
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array;
  /** 3 by default; a POST follows none. */
  readonly maxRedirects?: number;
  /** Host names or addresses that are allowed although they are private. */
  readonly allowPrivate?: readonly string[];
  /** The system's by default. */
  readonly resolve?: Resolve;
}

export interface SafeAnswer {
  readonly status: number;
  /** Lower-case names. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array;
  /** After redirects. */
  readonly url: string;
}

const usualRedirects = 3;
const redirects = new Set([301, 302, 303, 307, 308]);
/** Ports of other services are refused: 80, 443 and those that need no privilege are left. */
const firstFreePort = 1024;

/**
 * Fetches an address that a user or a provider gave. The connection goes only to a public address: it is checked when it
 * is made, so that no later answer of the name server counts. Redirects are checked alike and never lead from HTTPS to
 * HTTP; headers and body go to the first origin alone. Throws `url_refused` for what is never allowed, and
 * `url_unreachable` for everything that goes wrong on the way.
 */
export async function safeFetch(url: string, options: SafeFetchOptions): Promise<SafeAnswer> {
  const { timeoutMs, method = "GET" } = options;
  const signal = AbortSignal.any([options.signal, AbortSignal.timeout(timeoutMs)]);
  let target = checkUrl(url, options);
  const left = method === "POST" ? 0 : (options.maxRedirects ?? usualRedirects);
  for (let hops = 0; ; hops += 1) {
    const isFirstOrigin = target.origin === new URL(url).origin;
    const answer = await send(target, { ...options, signal, isFirstOrigin });
    const location = answer.headers["location"];
    if (!redirects.has(answer.status) || location === undefined || method === "POST") return answer;
    if (hops >= left) throw new AppError("url_unreachable", "The address redirects too often.");
    const next = URL.canParse(location, target.href) ? new URL(location, target.href).href : "";
    const after = checkUrl(next, options);
    if (target.protocol === "https:" && after.protocol !== "https:")
      throw new AppError("url_refused", "The address redirects from HTTPS to HTTP.");
    target = after;
  }
}

/** Checks what is visible in the address itself. Throws `url_refused`. */
export function checkUrl(
  url: string,
  { allowPrivate = [] }: Pick<SafeFetchOptions, "allowPrivate"> = {},
): URL {
  const refuse = (why: string) => new AppError("url_refused", `This address is not allowed: ${why}.`);
  if (!URL.canParse(url)) throw refuse("it is not valid");
  const target = new URL(url);
  if (target.protocol !== "http:" && target.protocol !== "https:") throw refuse("only http and https are");
  if (target.username !== "" || target.password !== "") throw refuse("it holds a name or a password");
  const port = Number(target.port || (target.protocol === "https:" ? 443 : 80));
  if (port !== 80 && port !== 443 && port < firstFreePort) throw refuse("it names a port of another service");
  const host = hostOf(target);
  if (allowPrivate.includes(host)) return target;
  if (isIP(host) !== 0 && !isPublicAddress(host)) throw refuse("it leads into a private network");
  if (isIP(host) === 0 && (!host.includes(".") || isLocalName(host)))
    throw refuse("it leads into a private network");
  return target;
}

/** The host without brackets and without the dot at the end. */
function hostOf({ hostname }: URL): string {
  return hostname.replace(/^\[|\]$/g, "").replace(/\.$/, "");
}

function isLocalName(host: string): boolean {
  return /(?:^|\.)(?:localhost|local|internal|intranet|lan|home|corp|localdomain|home\.arpa)$/i.test(host);
}

interface SendOptions extends SafeFetchOptions {
  readonly isFirstOrigin: boolean;
}

async function send(target: URL, options: SendOptions): Promise<SafeAnswer> {
  const { signal, method = "GET", headers = {}, body, isFirstOrigin, maxBytes } = options;
  try {
    const response = await new Promise<IncomingMessage>((resolve, reject) => {
      const open = target.protocol === "https:" ? httpsRequest : httpRequest;
      const request = open(target, {
        method,
        signal,
        // No connection is shared: each one is checked for its own address.
        agent: false,
        lookup: checkedLookup(options),
        headers: { "accept-encoding": "identity", ...(isFirstOrigin ? headers : {}) },
      });
      request.on("response", resolve);
      request.on("error", reject);
      request.end(isFirstOrigin ? body : undefined);
    });
    const bytes = await readBounded(response, maxBytes);
    const single = Object.entries(response.headers).map(([name, value]) => [name, String(value)]);
    return {
      status: response.statusCode ?? 0,
      headers: Object.fromEntries(single),
      body: bytes,
      url: target.href,
    };
  } catch (error) {
    if (isAppError(error)) throw error;
    const message = signal.aborted ? "The address did not answer in time." : "The address cannot be reached.";
    throw new AppError("url_unreachable", message, { cause: error });
  }
}

/** Resolves a name to its addresses and refuses it when one of them is private. */
function checkedLookup({ allowPrivate = [], resolve = resolveByDns }: SafeFetchOptions): LookupFunction {
  return (hostname, options, callback) => {
    resolve(hostname, (error, addresses) => {
      const host = hostname.replace(/\.$/, "");
      const isAllowed = allowPrivate.includes(host);
      if (error) return callback(error, "", 0);
      if (
        addresses.length === 0 ||
        (!isAllowed && !addresses.every(({ address }) => isPublicAddress(address)))
      )
        return callback(
          new AppError("url_refused", "This address is not allowed: it leads into a private network."),
          "",
          0,
        );
      const [first] = addresses;
      if (options.all) callback(null, [...addresses]);
      else callback(null, first?.address ?? "", first?.family ?? 4);
    });
  };
}

const resolveByDns: Resolve = (hostname, callback) => {
  systemLookup(hostname, { all: true, verbatim: true }, (error, addresses) => callback(error, addresses));
};

async function readBounded(response: IncomingMessage, maxBytes: number): Promise<Uint8Array> {
  const tooLarge = () => new AppError("url_unreachable", `The answer has more than ${maxBytes} bytes.`);
  const chunks: Buffer[] = [];
  let size = 0;
  try {
    if (Number(response.headers["content-length"] ?? 0) > maxBytes) throw tooLarge();
    // What was asked for is plain; a packed answer could unpack to any size.
    if ((response.headers["content-encoding"] ?? "identity") !== "identity")
      throw new AppError("url_unreachable", "The answer is compressed although that was not asked for.");
    for await (const chunk of response) {
      size += chunk.length;
      if (size > maxBytes) throw tooLarge();
      chunks.push(chunk);
    }
  } finally {
    response.destroy();
  }
  return Buffer.concat(chunks);
}
