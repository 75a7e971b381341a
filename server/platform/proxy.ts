import { type IncomingMessage, request as httpRequest } from "node:http";
import { request as httpsRequest } from "node:https";
import { BlockList, isIP, setDefaultAutoSelectFamilyAttemptTimeout, type Socket } from "node:net";
import { pipeline, Readable, type Transform } from "node:stream";
import { connect as connectTls } from "node:tls";
import {
  constants,
  createBrotliDecompress,
  createGunzip,
  createInflate,
  createZstdDecompress,
} from "node:zlib";
import { isAddressRange, parseRanges, withoutBrackets } from "./addresses.ts";
import type { Env } from "./env.ts";
import { isOwnNetwork } from "./public-addresses.ts";

/** The settings of the environment, under their names in capitals. */
export type ProxyEnv = Pick<
  Env,
  "HTTPS_PROXY" | "HTTP_PROXY" | "ALL_PROXY" | "NO_PROXY" | "ALLOWED_PRIVATE_HOSTS"
>;

interface Proxies {
  readonly https: URL | null;
  readonly http: URL | null;
  readonly exceptions: readonly string[];
  readonly ownHosts: readonly string[];
  readonly ranges: BlockList;
}

const none: Proxies = { https: null, http: null, exceptions: [], ownHosts: [], ranges: new BlockList() };
let inForce = none;

/** The proxy that a text names, also without `http://`; null for another kind, such as SOCKS. */
export function readProxy(text: string | undefined): URL | null {
  if (text === undefined) return null;
  const address = text.includes("://") ? text : `http://${text}`;
  if (!URL.canParse(address)) return null;
  const url = new URL(address);
  return url.protocol === "http:" || url.protocol === "https:" ? url : null;
}

/**
 * How long each address of a host may take until the next one is tried, but for the last. With Node's 250 ms a host far away,
 * whose last address is of a family without a way, is never reached.
 */
const addressMs = 1_500;

/** Puts the proxies of the environment in force for the calls of this process to the outside, and gives addresses their time. */
export function useProxies(env: ProxyEnv): void {
  setDefaultAutoSelectFamilyAttemptTimeout(addressMs);
  const { HTTPS_PROXY, HTTP_PROXY, ALL_PROXY, NO_PROXY = [] } = env;
  inForce = {
    https: readProxy(HTTPS_PROXY ?? ALL_PROXY),
    http: readProxy(HTTP_PROXY ?? ALL_PROXY),
    ownHosts: env.ALLOWED_PRIVATE_HOSTS,
    exceptions: NO_PROXY.map((entry) => entry.toLowerCase()),
    ranges: parseRanges(NO_PROXY.filter(isAddressRange)),
  };
}

/**
 * The proxy for an address; null for a direct connection. Servers of the own network, loopback first, are never reached by
 * a proxy, nor what NO_PROXY names: `*`, a host with all below it, with or without a port, or a range of addresses.
 */
export function proxyFor(target: URL): URL | null {
  const proxy = target.protocol === "https:" ? inForce.https : inForce.http;
  if (!proxy || isOwnNetwork(target.href, inForce.ownHosts)) return null;
  const host = hostOf(target);
  const family = isIP(host) === 6 ? "ipv6" : "ipv4";
  if (isIP(host) !== 0 && inForce.ranges.check(host, family)) return null;
  const port = portOf(target);
  return inForce.exceptions.some((entry) => isException(entry, host, port)) ? null : proxy;
}

const hostOf = ({ hostname }: URL) => withoutBrackets(hostname);
const portOf = ({ port, protocol }: URL) => port || (protocol === "https:" ? "443" : "80");

function isException(entry: string, host: string, port: string): boolean {
  if (entry === "*") return true;
  const [, name = "", own] = /^(?:\*?\.)?(.+?)(?::(\d+))?$/.exec(entry) ?? [];
  if (own !== undefined && own !== port) return false;
  return host === name || host.endsWith(`.${name}`);
}

/** A proxy did not open the way to an address: nothing was sent there. */
class ProxyError extends Error {
  readonly code = "ERR_PROXY";
}

const connectMs = 15_000;

/** Opens a way to the host and port through the proxy; a TLS connection to the host where `serverName` is given. */
export async function openTunnel(
  proxy: URL,
  { host, port, serverName }: { readonly host: string; readonly port: string; readonly serverName?: string },
  signal: AbortSignal,
): Promise<Socket> {
  const target = `${isIP(host) === 6 ? `[${host}]` : host}:${port}`;
  const socket = await askForTunnel(proxy, target, AbortSignal.any([signal, AbortSignal.timeout(connectMs)]));
  if (serverName === undefined) return socket;
  const name = isIP(serverName) === 0 ? { servername: serverName } : {};
  return new Promise((resolve, reject) => {
    const secure = connectTls({ socket, ALPNProtocols: ["http/1.1"], ...name, host: serverName });
    const abort = () => secure.destroy(new Error("The call was stopped."));
    signal.addEventListener("abort", abort, { once: true });
    secure.once("error", reject);
    secure.once("close", () => signal.removeEventListener("abort", abort));
    secure.once("secureConnect", () => {
      secure.off("error", reject);
      resolve(secure);
    });
  });
}

/** What a proxy with a name and a password wants to see. */
function headersFor({ username, password }: URL): Record<string, string> {
  if (username === "") return {};
  const credentials = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`;
  return { "proxy-authorization": `Basic ${Buffer.from(credentials).toString("base64")}` };
}

function askForTunnel(proxy: URL, target: string, signal: AbortSignal): Promise<Socket> {
  const headers = { host: target, ...headersFor(proxy) };
  const send = proxy.protocol === "https:" ? httpsRequest : httpRequest;
  const at = { host: hostOf(proxy), port: portOf(proxy) };
  return new Promise((resolve, reject) => {
    const fail = (why: string, cause?: unknown) =>
      reject(new ProxyError(`The proxy ${at.host}:${at.port} ${why}.`, { cause }));
    const request = send({ ...at, method: "CONNECT", path: target, headers, signal, agent: false });
    request.once("connect", ({ statusCode }, socket) => {
      if (statusCode === 200) return resolve(socket);
      socket.destroy();
      return fail(`answered ${statusCode} instead of opening the way to ${target}`);
    });
    request.once("response", (response) => {
      response.destroy();
      fail(`answered ${response.statusCode} instead of opening the way to ${target}`);
    });
    request.once("error", (error) => fail("cannot be reached", error));
    request.end();
  });
}

/** No connection, no way through the proxy, or a certificate that is refused before a request is written. */
const unsentCode =
  /^(?:ECONNREFUSED|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH|UND_ERR_CONNECT_TIMEOUT|ERR_PROXY|(?:ERR_TLS_)?CERT_.*|(?:DEPTH_ZERO_)?SELF_SIGNED_CERT.*|UNABLE_TO_(?:GET|VERIFY)_.*)$/;

/** Whether a call of `outsideFetch` failed before the other side could have anything of it; false where that is not known. */
export function isUnsent(error: unknown): boolean {
  let current = error;
  for (let depth = 0; depth < 6 && current instanceof Error; depth += 1) {
    if ("code" in current && typeof current.code === "string") return unsentCode.test(current.code);
    current = current.cause;
  }
  return false;
}

/** `fetch` for addresses outside of the own network: through the proxy that is in force, if there is one. */
export async function outsideFetch(input: string | URL | Request, init: RequestInit = {}): Promise<Response> {
  const target = new URL(input instanceof Request ? input.url : input);
  const proxy = proxyFor(target);
  return proxy ? sendOn(proxy, target, new Request(input, init)) : fetch(input, init);
}

/** The same for a server that is silent until its work is done: `fetch` gives it up after five minutes, this with the signal alone. */
export async function patientFetch(input: string | URL | Request, init: RequestInit = {}): Promise<Response> {
  const target = new URL(input instanceof Request ? input.url : input);
  return sendOn(proxyFor(target), target, new Request(input, init));
}

async function sendOn(proxy: URL | null, target: URL, request: Request): Promise<Response> {
  const body = request.body === null ? null : Buffer.from(await request.arrayBuffer());
  const headers = {
    ...Object.fromEntries(request.headers),
    host: target.host,
    "accept-encoding": "identity",
    ...(body === null ? {} : { "content-length": String(body.length) }),
  };
  const { method, signal } = request;
  const way = await wayTo(proxy, target, signal);
  const answer = await new Promise<IncomingMessage>((resolve, reject) => {
    const sent = way.send({ ...way.options, method, signal, headers: { ...headers, ...way.headers } });
    sent.once("response", resolve);
    sent.once("error", reject);
    sent.end(body ?? undefined);
  });
  return toResponse(answer, request);
}

/** A tunnel for an address with TLS; a request for another one is given to the proxy as it is. Direct without a proxy. */
async function wayTo(proxy: URL | null, target: URL, signal: AbortSignal) {
  const path = `${target.pathname}${target.search}`;
  if (!proxy) {
    const send = target.protocol === "https:" ? httpsRequest : httpRequest;
    return { send, options: { host: hostOf(target), port: portOf(target), path, agent: false }, headers: {} };
  }
  if (target.protocol !== "https:") {
    const options = { host: hostOf(proxy), port: portOf(proxy), path: target.href };
    return {
      send: proxy.protocol === "https:" ? httpsRequest : httpRequest,
      options,
      headers: headersFor(proxy),
    };
  }
  const host = hostOf(target);
  const socket = await openTunnel(proxy, { host, port: portOf(target), serverName: host }, signal);
  return { send: httpRequest, options: { path, createConnection: () => socket }, headers: {} };
}

const withoutBody: readonly number[] = [204, 205, 304];

/** Some servers and proxies pack what they were asked to leave as it is. What has come is given on at once. */
const unpackers: Readonly<Record<string, () => Transform>> = {
  gzip: () => createGunzip({ flush: constants.Z_SYNC_FLUSH }),
  "x-gzip": () => createGunzip({ flush: constants.Z_SYNC_FLUSH }),
  deflate: () => createInflate({ flush: constants.Z_SYNC_FLUSH }),
  br: () => createBrotliDecompress({ flush: constants.BROTLI_OPERATION_FLUSH }),
  zstd: () => createZstdDecompress({ flush: constants.ZSTD_e_flush }),
};

function unpacked(answer: IncomingMessage): Readable {
  const packing = answer.headers["content-encoding"]?.trim().toLowerCase() ?? "";
  const unpacker = Object.hasOwn(unpackers, packing) ? unpackers[packing]?.() : undefined;
  if (!unpacker) return answer;
  delete answer.headers["content-encoding"];
  delete answer.headers["content-length"];
  // A fault of either is one of what is read.
  return pipeline(answer, unpacker, () => undefined);
}

function toResponse(answer: IncomingMessage, { redirect }: Request): Response {
  const status = answer.statusCode ?? 502;
  if (redirect === "error" && status >= 300 && status < 400 && answer.headers.location !== undefined) {
    answer.destroy();
    throw new TypeError("The address redirects.");
  }
  const isEmpty = withoutBody.includes(status);
  const content = isEmpty ? answer.resume() : unpacked(answer);
  const headers = Object.entries(answer.headers).flatMap(([name, value]): [string, string][] =>
    value === undefined ? [] : [value].flat().map((one) => [name, one]),
  );
  // Safe: both are the platform's stream of bytes.
  const stream = isEmpty ? null : (Readable.toWeb(content) as ReadableStream<Uint8Array>);
  return new Response(stream, { status, headers });
}
