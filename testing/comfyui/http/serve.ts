import type { IncomingMessage, ServerResponse } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import type { ComfyMode, Guard } from "../options.ts";
import type { Comfy } from "../server/session.ts";
import {
  type Answer,
  bodyTooLarge,
  type Call,
  empty,
  type Handler,
  proxyPage,
  readBody,
  serverTrouble,
  text,
  TooLarge,
  unknownPath,
} from "./answer.ts";
import { uploadImage, uploadMask, viewImage } from "./images.ts";
import {
  deleteFaults,
  getFeatures,
  getObjectInfo,
  getStats,
  getSystemStats,
  listEmbeddings,
  listFaults,
  listFolders,
  listModels,
  listObjectInfo,
  listPrompts,
  postFault,
  postModels,
  postRelease,
} from "./information.ts";
import { cancelJob, cancelJobs, getHistory, getJob, listHistory, listJobs, postHistory } from "./jobs.ts";
import { getPrompt, getQueue, postFree, postInterrupt, postPrompt, postQueue } from "./queue.ts";

/** Whether a page of another host asks a server on loopback: refused with 403 and no body. */
export function isForeignOrigin({ host, origin }: IncomingMessage["headers"]): boolean {
  if (!host || !origin) return false;
  const own = URL.parse(`http://${host}`);
  const other = URL.parse(origin);
  if (!own || !isLoopback(own.hostname) || !other?.host) return false;
  return other.port === "" ? other.hostname !== own.hostname : other.host !== own.host;
}

function isLoopback(hostname: string): boolean {
  return hostname === "localhost" || hostname === "[::1]" || hostname.startsWith("127.");
}

interface Route {
  readonly method: string;
  readonly pattern: RegExp;
  readonly handle: Handler;
  /** Only in this line of the server. */
  readonly mode?: ComfyMode;
  /** Only below "/api". */
  readonly isApiOnly?: true;
}

function route(method: string, path: string, handle: Handler): Route {
  return { method, pattern: new RegExp(`^${path.replaceAll(/\{\w+\}/g, "([^/]+)")}$`), handle };
}

/** Every route exists with and without "/api", but for those of jobs. */
const routes: readonly Route[] = [
  route("GET", "/prompt", getPrompt),
  route("POST", "/prompt", postPrompt),
  route("GET", "/queue", getQueue),
  route("POST", "/queue", postQueue),
  route("POST", "/interrupt", postInterrupt),
  route("POST", "/free", postFree),
  route("GET", "/history", listHistory),
  route("GET", "/history/{id}", getHistory),
  route("POST", "/history", postHistory),
  route("POST", "/upload/image", uploadImage),
  route("POST", "/upload/mask", uploadMask),
  route("GET", "/view", viewImage),
  route("GET", "/system_stats", getSystemStats),
  route("GET", "/features", getFeatures),
  route("GET", "/object_info", listObjectInfo),
  route("GET", "/object_info/{class}", getObjectInfo),
  route("GET", "/models", listFolders),
  route("GET", "/models/{folder}", listModels),
  route("GET", "/embeddings", listEmbeddings),
  { ...route("POST", "/jobs/cancel", cancelJobs), mode: "new", isApiOnly: true },
  { ...route("POST", "/jobs/{id}/cancel", cancelJob), mode: "new", isApiOnly: true },
  { ...route("GET", "/jobs", listJobs), isApiOnly: true },
  { ...route("GET", "/jobs/{id}", getJob), isApiOnly: true },
];

/** What drives the simulator itself; never struck by faults. */
const simRoutes: readonly Route[] = [
  route("GET", "/sim/stats", getStats),
  route("GET", "/sim/prompts", listPrompts),
  route("POST", "/sim/models", postModels),
  route("GET", "/sim/fault", listFaults),
  route("POST", "/sim/fault", postFault),
  route("DELETE", "/sim/fault", deleteFaults),
  route("POST", "/sim/release", postRelease),
];

/** Finds the route of a call and answers it. */
async function answerCall(call: Call): Promise<Answer> {
  if (isForeignOrigin(call.headers)) return empty(403);
  if (call.method === "OPTIONS") return empty(200);
  const method = call.method === "HEAD" ? "GET" : call.method;
  const known = (call.path.startsWith("/sim/") ? simRoutes : routes).filter((route) => isThere(call, route));
  const found = known.find((route) => route.method === method);
  // The catch-all of the static files answers GET with 404 and every other method with 405.
  if (!found && call.method === "HEAD") return empty(404);
  if (!found) return method === "GET" ? unknownPath : notAllowed(known);
  const params = (found.pattern.exec(call.path) ?? []).slice(1).map(decodeURIComponent);
  return handleSafely(() => found.handle({ ...call, params }));
}

function isThere({ comfy, path, isBelowApi }: Call, { pattern, mode, isApiOnly }: Route): boolean {
  if (mode && mode !== comfy.options.mode) return false;
  return pattern.test(path) && (isBelowApi || !isApiOnly);
}

function notAllowed(known: readonly Route[]): Answer {
  const methods = new Set(["GET", "HEAD", ...known.map(({ method }) => method)]);
  const answer = text(405, "405: Method Not Allowed");
  return { ...answer, headers: { ...answer.headers, allow: [...methods].toSorted().join(",") } };
}

async function handleSafely(handle: () => Promise<Answer> | Answer): Promise<Answer> {
  try {
    return await handle();
  } catch (error) {
    return error instanceof TooLarge ? bodyTooLarge : serverTrouble;
  }
}

/** The path without a prefix; null when it is not below the base path. */
export function innerPath(pathname: string, basePath: string): string | null {
  if (basePath !== "" && !pathname.startsWith(`${basePath}/`)) return null;
  const inner = pathname.slice(basePath.length);
  return inner.startsWith("/api/") ? inner.slice("/api".length) : inner;
}

/** Answers one request, or does what a fault wants instead. */
export async function serveRequest(
  comfy: Comfy,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const url = new URL(request.url ?? "/", "http://simulator");
  const path = innerPath(url.pathname, comfy.options.basePath);
  if (path === null) return send(response, proxyPage(404));
  const refusal = refuseStranger(comfy.options, request);
  if (refusal) return refuseBody(request, response, refusal);
  const method = request.method ?? "GET";
  const call: Call = {
    comfy,
    method,
    path,
    isBelowApi: url.pathname.startsWith(`${comfy.options.basePath}/api/`),
    params: [],
    query: url.searchParams,
    headers: request.headers,
    readBody: () => readBody(request),
  };
  if (path.startsWith("/sim/")) return send(response, await answerCall(call));
  count(comfy, `${method} ${path}`);
  await serveWithFaults(call, request, response);
}

async function serveWithFaults(call: Call, request: IncomingMessage, response: ServerResponse) {
  const { faults } = call.comfy;
  const name = `${call.method} ${call.path}`;
  const fits = ({ path }: { path?: string }) =>
    path === undefined || name.startsWith(path) || call.path.startsWith(path);
  if (faults.take("never-answers", fits)) return;
  const slow = faults.take("slow-answer", fits);
  const pause = () => slow?.until ?? sleep(slow?.ms);
  if (slow && !slow.isDone) await pause();
  const page = faults.take("html", fits);
  if (page) return refuseBody(request, response, proxyPage(page.status));
  const garbage = faults.take("garbage", fits);
  const answer = await answerCall(call);
  if (slow?.isDone) await pause();
  if (faults.take("lost-answer", fits)) {
    request.socket.destroy();
    return;
  }
  if (garbage) return send(response, { status: 200, body: "\u0000 not what was asked for" });
  send(response, faults.take("odd-numbers", fits) ? withOddNumbers(answer) : answer);
}

/** As Python writes what a node said of its change; JSON has no such numbers. */
function withOddNumbers({ body, ...head }: Answer): Answer {
  const noted = '"is_changed": [NaN, -Infinity], "class_type":';
  return { ...head, body: typeof body === "string" ? body.replaceAll('"class_type":', noted) : body };
}

/** nginx answers before it has read the body, and reads the rest away. */
function refuseBody(request: IncomingMessage, response: ServerResponse, answer: Answer): void {
  request.resume();
  send(response, answer);
}

function send(response: ServerResponse, { status, headers = {}, body }: Answer): void {
  response.writeHead(status, { ...headers, "content-length": Buffer.byteLength(body) });
  response.end(body);
}

interface Guarded {
  readonly auth?: string | null;
  readonly guard: Guard | null;
}

/** The answer of the proxy to a request without the credentials that it wants; null for one with them. */
export function refuseStranger(
  { auth = null, guard }: Guarded,
  { headers, url }: IncomingMessage,
): Answer | null {
  const basic = auth === null ? {} : { authorization: `Basic ${Buffer.from(auth).toString("base64")}` };
  const wanted = { ...basic, ...guard?.headers };
  const { searchParams } = new URL(url ?? "/", "http://simulator");
  const isKnown =
    Object.entries(wanted).every(([name, value]) => headers[name.toLowerCase()] === value) &&
    Object.entries(guard?.query ?? {}).every(([name, value]) => searchParams.get(name) === value);
  if (isKnown) return null;
  if (guard?.redirect === undefined) return proxyPage(401);
  return { ...empty(302), headers: { location: guard.redirect } };
}

const ids = /[0-9a-f]{8}-[0-9a-f-]{27}/g;

function count({ ledger }: Comfy, name: string): void {
  const key = name.replaceAll(ids, "{id}");
  ledger.counts.requests[key] = (ledger.counts.requests[key] ?? 0) + 1;
}
