import { Server, ServerResponse, type IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
// Not by the package's door: this file is loaded before Next, and into each of its helper processes.
import { isUpgrade, pathOfTarget } from "../../server/platform/upgrades.ts";
import {
  clientAddress,
  isInRanges,
  isKnownHost,
  parseRanges,
  refusedMethodHeader,
} from "../../server/platform/addresses.ts";
import { pictureLimits } from "../../server/platform/picture-limits.ts";
import { answerServer, handedOn, keepLength, refuse, type Refusal, servePage } from "./answers.ts";

/** The part of the environment that decides who may reach the studio. */
export interface FrontDoorEnv {
  readonly HOST?: string | undefined;
  readonly APP_URL?: string | undefined;
  readonly TRUSTED_PROXIES?: string | undefined;
}

const droppedHeaders = [
  "forwarded",
  "x-forwarded-for",
  "x-forwarded-host",
  "x-forwarded-port",
  "x-forwarded-proto",
  "x-real-ip",
  "range", // Next answers 500 where a file has no such part; the whole is as good.
] as const;

const misdirected: Refusal = {
  status: 421,
  text: "This studio does not answer to that host name. Open it as localhost, or set APP_URL to the address that people type.\n",
};

/** Of several proxies the one that is next to the studio is known to be trusted. */
function lastOf(value: string | string[] | undefined): string | undefined {
  return String(value ?? "")
    .split(",")
    .at(-1)
    ?.trim();
}

/** Replaces the proxies' headers by known facts: the client's address, and the proxy's own host and scheme if trusted. */
function settleHeaders(request: IncomingMessage, proxies: ReturnType<typeof parseRanges>): void {
  const { headers, socket } = request;
  const peer = socket.remoteAddress ?? "";
  const isTrusted = isInRanges(proxies, peer);
  const forwardedFor = [headers["x-forwarded-for"]].flat().join(",");
  const client = clientAddress({ peer, forwardedFor, proxies });
  const host = isTrusted ? lastOf(headers["x-forwarded-host"]) : undefined;
  const scheme = isTrusted ? lastOf(headers["x-forwarded-proto"]) : undefined;
  for (const name of droppedHeaders) delete headers[name];
  headers["x-forwarded-for"] = client;
  if (host) headers["x-forwarded-host"] = host;
  if (scheme) headers["x-forwarded-proto"] = scheme;
}

const wrongTarget: Refusal = { status: 400, text: "The address of the request cannot be read.\n" };

const unreadable: Refusal = { status: 400, text: "The path of this address is no text in UTF-8.\n" };

/** Next fails with 500 at a path that it cannot decode. */
function isReadable(request: IncomingMessage): boolean {
  try {
    return !decodeURIComponent(pathOfTarget(request)).includes("\0");
  } catch {
    return false;
  }
}

/** An address with scheme and host becomes a path, and its host is the request's. False for one of no web server. */
function settleTarget(request: IncomingMessage): boolean {
  const { url = "", headers } = request;
  if (url.startsWith("/")) return true;
  const target = URL.parse(url);
  if (!target || !["http:", "https:"].includes(target.protocol)) return false;
  if (target.username !== "" || target.password !== "") return false;
  headers.host = target.host;
  request.url = `${target.pathname}${target.search}`;
  return true;
}

/** Rewrites what Next does not know of a request line; methods that no handler can be given become OPTIONS with a mark. */
function settleLine(request: IncomingMessage): Refusal | null {
  delete request.headers[refusedMethodHeader];
  if (!settleTarget(request)) return wrongTarget;
  if (!isReadable(request)) return unreadable;
  settleSlashes(request);
  const { method = "", url = "" } = request;
  if (isHandled(url, method) && !handedOn.has(method)) {
    request.headers[refusedMethodHeader] = method;
    request.method = "OPTIONS";
  }
  return null;
}

/**
 * Programs put a base address and a path together with a slash too many, or end an address with one. Next would answer with a
 * redirect, which many do not follow with a POST, or take the address for a page.
 */
function settleSlashes(request: IncomingMessage): void {
  const { url = "", method } = request;
  const [path = ""] = url.split("?", 1);
  const plain = path.replaceAll(/\/{2,}/g, "/").replace(/\/$/, "");
  if (plain !== path && isHandled(plain, method)) request.url = plain + url.slice(path.length);
}

/** Addresses of route handlers, which answer every method; all others are pages and files. */
const handlers =
  /^\/(api\/.*|l\/.*|manifest\.webmanifest|metrics|jobsRedis|jobChangeOutfit|jobResult|upload|images\/.*|image\/raw\/.*|iopaint\/.*|v1\/.*|sdapi\/.*|controlnet\/.*|rembg|mcp|inpaint|run_plugin|server_config|model|shared\/take|socket\.io\/)$/;

/** Whether a route handler answers; `proxy.ts` leads the old clients' POST from the page of that address to theirs. */
export function isHandled(url: string, method = "GET"): boolean {
  const path = url.split("?", 1)[0] ?? "";
  // The development tools of Next have addresses of their own.
  return handlers.test(path) || (path === "/jobs" && method === "POST") || path.startsWith("/__nextjs");
}

/** How long a request may take to arrive, as Node has it for all of them. */
const arrivalMs = 300_000;
/** A phone at the edge of its network: 25 MB take 14 minutes more. */
const slowestBytesPerMs = 32;
const longestMs = 3_600_000;
/** Of one request, with room for the form around the files: a larger one is refused. */
const largestBytes = (pictureLimits.uploadFiles * pictureLimits.uploadMib + 1) * 1_048_576;
const uploads = /^\/api\/v1\/uploads(?=[/?]|$)/;

/** How long the body of a request may take to arrive: that of an upload longer, by its size. */
export function arrivalMsOf({ url = "", headers }: Pick<IncomingMessage, "url" | "headers">): number {
  const sizeBytes = Number(headers["content-length"] ?? 0);
  if (!uploads.test(url) || !(sizeBytes > 0 && sizeBytes <= largestBytes)) return arrivalMs;
  return Math.min(longestMs, arrivalMs + sizeBytes / slowestBytesPerMs);
}

/**
 * Ends a request whose body takes too long. Node's own limit is the same for all requests of a server, and would cut every upload on a
 * slow line. Once an answer is sent, for example a refusal, nothing reads the rest of the body: from then on it has the usual time.
 */
function endLate(request: IncomingMessage, answer: ServerResponse): void {
  const { headers, socket } = request;
  if (headers["content-length"] === undefined && headers["transfer-encoding"] === undefined) return;
  const endIn = (ms: number) =>
    setTimeout(() => {
      if (!request.complete) socket.destroy();
    }, ms).unref();
  let timer = endIn(arrivalMsOf(request));
  request.once("close", () => clearTimeout(timer));
  answer.once("finish", () => {
    if (request.complete) return;
    clearTimeout(timer);
    timer = endIn(arrivalMs);
  });
}

/** Judges each request where its socket is seen; false when it was refused and is answered. */
export function frontDoor(env: FrontDoorEnv) {
  const { HOST = "127.0.0.1", APP_URL } = env;
  const names = (env.TRUSTED_PROXIES ?? "").split(",").map((name) => name.trim());
  const proxies = parseRanges(names.filter(Boolean));
  const isHttps = APP_URL !== undefined && URL.parse(APP_URL)?.protocol === "https:";
  return (request: IncomingMessage, answer: unknown): boolean => {
    settleHeaders(request, proxies);
    const asksServer = request.method === "OPTIONS" && request.url === "*";
    const refusal = asksServer ? null : settleLine(request);
    const isKnown = isKnownHost({ HOST, APP_URL }, request.headers.host ?? "");
    if (refusal || !isKnown) {
      refuse(answer, refusal ?? misdirected);
      return false;
    }
    if (!(answer instanceof ServerResponse)) return true;
    endLate(request, answer);
    keepLength(answer);
    if (asksServer) {
      answerServer(answer);
      return false;
    }
    if (isHttps) answer.setHeader("Strict-Transport-Security", "max-age=31536000");
    if (!isHandled(request.url ?? "", request.method)) servePage(request, answer);
    return true;
  };
}

const judged = new Set(["request", "upgrade", "checkContinue", "checkExpectation"]);

/** Takes over a connection; false leaves it to the server, such as one of the development tools. */
export type TakeUpgrade = (request: IncomingMessage, socket: Duplex, head: Buffer) => boolean;

/** Takes over a request that no handler of Next is for; false leaves it to the server. */
export type TakeRequest = (request: IncomingMessage, response: ServerResponse) => boolean;

interface Takers {
  readonly takeUpgrade: TakeUpgrade;
  readonly takeRequest: TakeRequest;
}

/**
 * How long an idle connection is kept, in ms. A proxy that sends a request on one just as it is closed here answers 502, and repeats no
 * POST: so the proxy has to be the one that closes. nginx does after 60 s, Caddy after 120 s, the load balancers of clouds
 * after up to 600 s. The same happens to a program that comes directly and asks every few seconds: after the 5 s of Node its connection
 * would be closed just when the next request is sent, so it is kept for longer than such pauses are.
 */
const keepAliveMs = { behindProxy: 620_000, direct: 75_000 };

/** Bytes of all headers of a request: at one host the cookies of many programs come together, for which Node's 16 KiB are too few. */
const maxHeaderSize = 65_536;

/** Puts the door before every HTTP server of this process: `next start` and `next dev` give no access to theirs. */
export function installFrontDoor(env: FrontDoorEnv, { takeUpgrade, takeRequest }: Takers): void {
  const admit = frontDoor(env);
  const settings = {
    shouldUpgradeCallback: isUpgrade,
    maxHeaderSize,
    requestTimeout: longestMs + arrivalMs,
    keepAliveTimeout: env.TRUSTED_PROXIES ? keepAliveMs.behindProxy : keepAliveMs.direct,
  };
  const emit: unknown = Reflect.get(Server.prototype, "emit");
  if (typeof emit !== "function") throw new TypeError("An HTTP server without emit.");
  Server.prototype.emit = function (this: Server, event: string, ...args: unknown[]): boolean {
    if (event === "listening") Object.assign(this, settings);
    if (judged.has(event) && !admit(args[0] as IncomingMessage, args[1])) return true;
    if (event === "upgrade" && takeUpgrade(...(args as Parameters<TakeUpgrade>))) return true;
    if (event === "request" && takeRequest(...(args as Parameters<TakeRequest>))) return true;
    return Boolean(Reflect.apply(emit, this, [event, ...args]));
  };
}
