import { Server, ServerResponse, type IncomingMessage } from "node:http";
import { Duplex } from "node:stream";
// Not by the package's door: this file is loaded before Next, and into each of its helper processes.
import { answerRaw, isUpgrade, pathOfTarget } from "../../server/platform/upgrades.ts";
import { clientAddress, isInRanges, isKnownHost, parseRanges } from "../../server/platform/addresses.ts";

/** The part of the environment that decides who may reach the studio. */
export interface FrontDoorEnv {
  readonly HOST?: string | undefined;
  readonly APP_URL?: string | undefined;
  readonly TRUSTED_PROXIES?: string | undefined;
}

const proxyHeaders = [
  "forwarded",
  "x-forwarded-for",
  "x-forwarded-host",
  "x-forwarded-port",
  "x-forwarded-proto",
  "x-real-ip",
] as const;

const misdirected =
  "This studio does not answer to that host name. Open it as localhost, or set APP_URL to the address that people type.\n";

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
  for (const name of proxyHeaders) delete headers[name];
  headers["x-forwarded-for"] = client;
  if (host) headers["x-forwarded-host"] = host;
  if (scheme) headers["x-forwarded-proto"] = scheme;
}

const unreadable = "The path of this address is no text in UTF-8.\n";

function refuse(answer: unknown, status: number, text: string): void {
  if (answer instanceof ServerResponse) {
    answer.writeHead(status, { "content-type": "text/plain; charset=utf-8", connection: "close" });
    answer.end(text);
  } else if (answer instanceof Duplex) {
    answerRaw(answer, { status });
  }
}

/** Next fails with 500 at a path that it cannot decode. */
function isReadable(request: IncomingMessage): boolean {
  try {
    return !decodeURIComponent(pathOfTarget(request)).includes("\0");
  } catch {
    return false;
  }
}

/** Judges each request where its socket is seen; false when it was refused and is answered. */
export function frontDoor(env: FrontDoorEnv) {
  const { HOST = "127.0.0.1", APP_URL } = env;
  const names = (env.TRUSTED_PROXIES ?? "").split(",").map((name) => name.trim());
  const proxies = parseRanges(names.filter(Boolean));
  const isHttps = APP_URL?.startsWith("https://") ?? false;
  return (request: IncomingMessage, answer: unknown): boolean => {
    settleHeaders(request, proxies);
    if (!isKnownHost({ HOST, APP_URL }, request.headers.host ?? "")) {
      refuse(answer, 421, misdirected);
      return false;
    }
    if (!isReadable(request)) {
      refuse(answer, 400, unreadable);
      return false;
    }
    if (isHttps && answer instanceof ServerResponse)
      answer.setHeader("Strict-Transport-Security", "max-age=31536000");
    return true;
  };
}

const judged = new Set(["request", "upgrade", "checkContinue", "checkExpectation"]);

/** Takes over a connection; false leaves it to the server, such as one of the development tools. */
export type TakeUpgrade = (request: IncomingMessage, socket: Duplex, head: Buffer) => boolean;

/** Puts the door before every HTTP server of this process: `next start` and `next dev` give no access to theirs. */
export function installFrontDoor(env: FrontDoorEnv, takeUpgrade: TakeUpgrade): void {
  const admit = frontDoor(env);
  const emit: unknown = Reflect.get(Server.prototype, "emit");
  if (typeof emit !== "function") throw new TypeError("An HTTP server without emit.");
  Server.prototype.emit = function (this: Server, event: string, ...args: unknown[]): boolean {
    if (event === "listening") Object.assign(this, { shouldUpgradeCallback: isUpgrade });
    if (judged.has(event) && !admit(args[0] as IncomingMessage, args[1])) return true;
    if (event === "upgrade" && takeUpgrade(...(args as Parameters<TakeUpgrade>))) return true;
    return Boolean(Reflect.apply(emit, this, [event, ...args]));
  };
}
