import { lookup, Resolver } from "node:dns/promises";
import { type IncomingMessage, request as httpRequest } from "node:http";
import { request as httpsRequest } from "node:https";
import { isIP, type LookupFunction, type Socket } from "node:net";
import { pipeline } from "node:stream";
import { callbackify } from "node:util";
import { createBrotliDecompress, createGunzip, createInflate } from "node:zlib";
import { withoutBrackets } from "./addresses.ts";
import { AppError, isAppError } from "./errors.ts";
import { faultOfAddress } from "./no-answer.ts";
import { openTunnel, proxyFor } from "./proxy.ts";
import {
  checkRedirect,
  checkUrl,
  isAllowedHost,
  isPublicAnswer,
  privateAddress,
  type UrlRules,
} from "./public-addresses.ts";

interface FoundAddress {
  readonly address: string;
  readonly family: number;
}

export interface SafeFetchOptions extends UrlRules {
  readonly signal: AbortSignal;
  /** For the whole, redirects and the body included. */
  readonly timeoutMs: number;
  /** Of the body, as received and as unpacked. */
  readonly maxBytes: number;
  readonly method?: "GET" | "POST";
  readonly headers?: Readonly<Record<string, string>> | undefined;
  readonly body?: string | Uint8Array;
  /** 3 by default. Only a GET follows any; another method returns the answer that redirects. */
  readonly maxRedirects?: number;
  /** A proxy is told the name of the host and not its address: where the operator or a provider chose the host. */
  readonly isNameTold?: boolean;
  /** The answer counts with its head: the body stays empty, however it goes on. */
  readonly isStatusEnough?: boolean;
  /** All addresses of a name; by default the name server's. */
  readonly resolve?: (hostname: string) => Promise<readonly FoundAddress[]>;
}

export interface SafeAnswer {
  readonly status: number;
  /** Lower-case names. */
  readonly headers: Readonly<Record<string, string>>;
  /** Unpacked. Empty for a redirect that was not followed. */
  readonly body: Buffer;
  /** After redirects. */
  readonly url: string;
}

const usualRedirects = 3;
const redirects = new Set([301, 302, 303, 307, 308]);

/**
 * Fetches a URL that a user or a provider gave; only public hosts are reached, and those that the operator allows. The
 * addresses of a name are checked for each connection, which is made to one of those checked, so a name server cannot
 * give another one in between. Redirects are checked alike, never lead from https to http, and take the headers of the
 * caller to no other origin. Throws `url_refused` for what is never fetched, `url_too_large`, `url_unreachable` for
 * everything else that goes wrong on the way, and the reason of `signal`.
 */
export async function safeFetch(url: string, options: SafeFetchOptions): Promise<SafeAnswer> {
  options.signal.throwIfAborted();
  const timeout = AbortSignal.timeout(options.timeoutMs);
  const signal = AbortSignal.any([options.signal, timeout]);
  try {
    return await follow(checkUrl(url, options), { ...options, signal });
  } catch (error) {
    if (isAppError(error)) throw error;
    options.signal.throwIfAborted();
    const message = timeout.aborted ? "The address did not answer in time." : faultIn(error);
    throw new AppError("url_unreachable", message, { cause: error });
  }
}

/** Why an address that is there cannot be used, such as its certificate; else the usual words. */
function faultIn(error: unknown): string | undefined {
  const code = error instanceof Error && "code" in error ? String(error.code) : "";
  const fault = faultOfAddress(code);
  return fault === "" ? undefined : `The address cannot be reached: ${fault}.`;
}

async function follow(first: URL, options: SafeFetchOptions): Promise<SafeAnswer> {
  const { method = "GET" } = options;
  const maxRedirects = method === "GET" ? (options.maxRedirects ?? usualRedirects) : 0;
  let target = first;
  let { headers } = options;
  for (let followed = 0; ; followed += 1) {
    const response = await open(target, { ...options, headers }, await openWay(target, options));
    const { location } = response.headers;
    const isRedirect = redirects.has(response.statusCode ?? 0) && location !== undefined;
    if (!isRedirect) return { ...headOf(response, target), body: await readBody(response, options) };
    response.destroy();
    if (maxRedirects === 0) return { ...headOf(response, target), body: Buffer.alloc(0) };
    if (followed >= maxRedirects) throw new AppError("url_unreachable", "The address redirects too often.");
    const next = checkRedirect(location, target, options);
    if (next.origin !== target.origin) headers = undefined;
    target = next;
  }
}

/** Makes the connection and sends the request; the body of the response is not read yet. */
function open(target: URL, options: SafeFetchOptions, way: Socket | null): Promise<IncomingMessage> {
  const { method, headers, body, signal } = options;
  const send = target.protocol === "https:" && !way ? httpsRequest : httpRequest;
  return new Promise((resolve, reject) => {
    const request = send(target, {
      method,
      signal,
      // No connection is shared: each one is checked for its own address.
      ...(way
        ? { protocol: "http:", createConnection: () => way, setHost: false }
        : { agent: false, lookup: checkedLookup(target, options) }),
      headers: {
        accept: "*/*",
        "user-agent": "Atelier",
        ...headers,
        ...(way ? { host: target.host } : {}),
        "accept-encoding": "identity",
      },
    });
    request.once("response", resolve);
    request.on("error", reject);
    // Nothing else is reported when the other side switches the protocol.
    request.once("close", () => reject(new Error("The connection was closed without an answer.")));
    request.end(body);
  });
}

/**
 * The way through the proxy that is in force, with TLS to the host; null for a direct connection. The addresses of the name
 * are checked as for a direct one, and the proxy is told one of those. A network whose names only the proxy knows leaves
 * that check to the proxy.
 */
async function openWay(target: URL, options: SafeFetchOptions): Promise<Socket | null> {
  const proxy = target.protocol === "https:" && !isAllowedHost(target, options) ? proxyFor(target) : null;
  if (!proxy) return null;
  const name = withoutBrackets(target.hostname);
  const found = isIP(name) === 0 ? await (options.resolve ?? resolveByServer)(name).catch(() => []) : [];
  if (!found.every(({ address }) => isPublicAnswer(address))) throw privateAddress();
  const host = options.isNameTold ? name : (found[0]?.address ?? name);
  return openTunnel(proxy, { host, port: target.port || "443", serverName: name }, options.signal);
}

/** Finds the addresses of a name for one connection, and refuses the name when one of them is private. */
function checkedLookup(target: URL, options: SafeFetchOptions): LookupFunction {
  const isAllowed = isAllowedHost(target, options);
  const resolve = options.resolve ?? (isAllowed ? resolveBySystem : resolveByServer);
  const find = async (hostname: string) => {
    const found = await resolve(hostname);
    if (isAllowed || found.every(({ address }) => isPublicAnswer(address))) return found;
    throw privateAddress();
  };
  return (hostname, { all }, callback) => {
    const answer = callbackify(find);
    answer(hostname, (error, found) => {
      const [one] = found ?? [];
      if (!one) return callback(error ?? new Error(`No address is known for ${hostname}.`), "", 0);
      return all ? callback(null, [...found]) : callback(null, one.address, one.family);
    });
  };
}

/** For the operator's own hosts, which may stand in a file of this machine. */
function resolveBySystem(hostname: string): Promise<FoundAddress[]> {
  return lookup(hostname, { all: true, verbatim: true });
}

/**
 * Asks the name server directly: the system's lookup would hold one of the few threads that also read files, for as long
 * as the server of a user's domain is silent.
 */
async function resolveByServer(hostname: string): Promise<FoundAddress[]> {
  const resolver = new Resolver({ timeout: 3_000, tries: 2 });
  const [v6, v4] = await Promise.allSettled([resolver.resolve6(hostname), resolver.resolve4(hostname)]);
  if (v4.status === "rejected" && v6.status === "rejected") throw v4.reason;
  const addresses = (found: typeof v4, family: number) =>
    found.status === "fulfilled" ? found.value.map((address) => ({ address, family })) : [];
  return [...addresses(v4, 4), ...addresses(v6, 6)];
}

function headOf(response: IncomingMessage, { href: url }: URL): Omit<SafeAnswer, "body"> {
  const headers = Object.entries(response.headers).map(([name, value]) => [name, String(value)]);
  return { status: response.statusCode ?? 0, headers: Object.fromEntries(headers), url };
}

function readBody(
  response: IncomingMessage,
  { maxBytes, isStatusEnough }: Pick<SafeFetchOptions, "maxBytes" | "isStatusEnough">,
): Promise<Buffer> {
  return isStatusEnough ? passOver(response, maxBytes) : bodyOf(response, maxBytes);
}

/** Reads the body within the limit; the connection ends with it. */
async function bodyOf(response: IncomingMessage, maxBytes: number): Promise<Buffer> {
  try {
    if (Number(response.headers["content-length"] ?? 0) > maxBytes) throw tooLarge(maxBytes);
    return Buffer.concat(await Array.fromAsync(unpacked(response, maxBytes)));
  } finally {
    response.destroy();
  }
}

/** Long enough for a server that would break off its work with the connection. */
const passOverMs = 2_000;

async function passOver(response: IncomingMessage, maxBytes: number): Promise<Buffer> {
  const timer = setTimeout(() => response.destroy(), passOverMs);
  await bodyOf(response, maxBytes).catch(() => undefined);
  clearTimeout(timer);
  return Buffer.alloc(0);
}

const tooLarge = (maxBytes: number) =>
  new AppError("url_too_large", `The answer has more than ${maxBytes} bytes.`);

/** Some servers send what they keep packed, although it is not asked for. */
function unpacked(response: IncomingMessage, maxBytes: number): AsyncIterable<Buffer> {
  const isEmpty = response.statusCode === 204;
  const unpacker = isEmpty ? null : unpackerOf(response.headers["content-encoding"]);
  const bounded = async function* (chunks: AsyncIterable<Buffer>) {
    let sizeBytes = 0;
    for await (const chunk of chunks) {
      sizeBytes += chunk.length;
      if (sizeBytes > maxBytes) throw tooLarge(maxBytes);
      yield chunk;
    }
  };
  const received = bounded(response);
  return unpacker ? bounded(pipeline(received, unpacker, () => undefined)) : received;
}

function unpackerOf(encoding = "identity") {
  switch (encoding.trim().toLowerCase()) {
    case "identity":
    case "":
      return null;
    case "gzip":
    case "x-gzip":
      return createGunzip();
    case "deflate":
      return createInflate();
    case "br":
      return createBrotliDecompress();
    default:
      throw new AppError("url_unreachable", "The answer is packed in a way that was not asked for.");
  }
}
