import type { ZodType } from "zod";
import {
  AppError,
  type ErrorCode,
  faultOfAddress,
  isOutOfSpace,
  parseForeignJson,
} from "@atelier/server/platform";

/** One ComfyUI server. */
export interface ComfyServer {
  /** Base address; may have a path prefix and `user:password@`. */
  readonly url: string;
  /** Sent with each request. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Part of each request, without its question mark; may hold a token. */
  readonly query?: string;
}

/** Bounds of one call. */
export interface CallOptions {
  /** Aborting rejects the call with the signal's reason. */
  readonly signal: AbortSignal;
  /** Until the whole answer was read. Each call has a default. */
  readonly timeoutMs?: number;
}

/** A workflow in API format: nodes by id. A link is `[node id, output index]`. */
export type PromptGraph = Readonly<
  Record<string, { readonly class_type: string; readonly inputs: Readonly<Record<string, unknown>> }>
>;

/** A file on a server. */
export interface ServerFile {
  readonly filename: string;
  readonly subfolder: string;
  readonly type: "input" | "output" | "temp";
}

/** A file that a node of a prompt made. */
export interface OutputFile extends ServerFile {
  readonly nodeId: string;
}

interface Request extends Route {
  /** Sent as JSON by POST. */
  readonly json?: unknown;
  /** Sent as multipart by POST. */
  readonly form?: FormData;
}

const defaultTimeoutMs = 10_000;

/** Sends one request and reads the answer with `read`; the time limit covers the body. Throws `server_lost`. */
export async function send<T>(
  server: ComfyServer,
  request: Request,
  { options, read }: { options: CallOptions; read: (response: Response) => Promise<T> },
): Promise<T> {
  const { signal } = options;
  signal.throwIfAborted();
  const timeout = AbortSignal.timeout(options.timeoutMs ?? defaultTimeoutMs);
  const { url, headers } = httpEndpoint(server, request);
  const init = { ...initOf(request, headers), signal: AbortSignal.any([signal, timeout]) };
  try {
    return await read(await fetchOnce(url, init));
  } catch (error) {
    signal.throwIfAborted();
    throw toServerLost(error, timeout);
  }
}

function initOf({ json, form }: Request, headers: Readonly<Record<string, string>>): RequestInit {
  // ComfyUI never redirects; a redirect leads to a page of a proxy.
  const redirect = "manual";
  if (form) return { method: "POST", body: form, headers, redirect };
  if (json === undefined) return { headers, redirect };
  const type = { "content-type": "application/json" };
  return { method: "POST", body: JSON.stringify(json), headers: { ...headers, ...type }, redirect };
}

/** Repeats a GET once when a kept connection was closed by the other side, which does not mean that the server is lost. */
async function fetchOnce(url: string, init: RequestInit): Promise<Response> {
  try {
    return await fetch(url, init);
  } catch (error) {
    if (init.method === "POST" || !isCut(error) || init.signal?.aborted) throw error;
    return fetch(url, init);
  }
}

const cutCodes = new Set(["ECONNRESET", "EPIPE", "UND_ERR_SOCKET"]);

function isCut(error: unknown): boolean {
  return cutCodes.has(networkCode(error));
}

const late = (cause?: unknown) =>
  new AppError("server_lost", "The server did not answer in time.", {
    details: { reason: "timeout" },
    cause,
  });

/** Aborts with `server_lost` once nothing has come for `ms`. */
export function limitSilence(ms: number) {
  const over = new AbortController();
  const end = () => over.abort(late());
  let timer = setTimeout(end, ms);
  return {
    signal: over.signal,
    async *noted(this: void, chunks: AsyncIterable<Uint8Array>) {
      for await (const chunk of chunks) {
        clearTimeout(timer);
        timer = setTimeout(end, ms);
        yield chunk;
      }
    },
    end: () => clearTimeout(timer),
  };
}

function toServerLost(error: unknown, timeout: AbortSignal): unknown {
  if (timeout.aborted) return late(error);
  // Only network failures are TypeErrors; a full disk or missing file handles are not the server's fault.
  if (!(error instanceof TypeError) || isOutOfSpace(error)) return error;
  const reason = networkCode(error) || "unreachable";
  return new AppError("server_lost", unreachableText(reason), { details: { reason }, cause: error });
}

/** For a failure of a connection with this code. */
export function unreachableText(code: string): string {
  const fault = faultOfAddress(code);
  return fault === "" ? "The server cannot be reached." : `The server cannot be reached: ${fault}.`;
}

/** The code of the failure below `fetch failed`, such as ECONNREFUSED; with several addresses that of the first. */
function networkCode(error: unknown): string {
  const cause = error instanceof Error ? error.cause : null;
  const first = cause instanceof AggregateError ? (cause.errors[0] as unknown) : cause;
  return first instanceof Error && "code" in first && typeof first.code === "string" ? first.code : "";
}

/** A complete answer. */
export interface Answer {
  readonly status: number;
  readonly contentType: string;
  readonly text: string;
}

const defaultMaxBytes = 8 * 1024 * 1024;

export interface Ask extends Request {
  /** Limit of the answer. Default 8 MiB. */
  readonly maxBytes?: number;
}

/** One request whose answer is text, whatever its status. Throws `server_lost`, `engine_failed` when it is too long. */
export function ask(server: ComfyServer, request: Ask, options: CallOptions): Promise<Answer> {
  const maxBytes = request.maxBytes ?? defaultMaxBytes;
  const read = async (response: Response): Promise<Answer> => ({
    status: response.status,
    contentType: response.headers.get("content-type") ?? "",
    text: (await readBody(response, maxBytes)).toString("utf8"),
  });
  return send(server, request, { options, read });
}

/** The JSON of a 200 answer. Throws `proxy_error`, `server_busy`, `request_too_large` or `engine_failed` otherwise. */
export function jsonOf<T>(answer: Answer, schema: ZodType<T>): T {
  const parsed = answer.status === 200 ? schema.safeParse(parseJson(answer.text)) : null;
  if (!parsed?.success) throw unexpectedAnswer(answer);
  return parsed.data;
}

/** For routes whose answer has no content. Throws as `jsonOf`. */
export function requireDone(answer: Answer): void {
  if (answer.status !== 200) throw unexpectedAnswer(answer);
}

/** Undefined when the text is not valid JSON. */
export function parseJson(text: string): unknown {
  return parseForeignJson(text);
}

const proxyStatuses = new Set([401, 403, 404, 405, 407, 502, 504, 598, 599]);
const busyStatuses = new Set([429, 503, 529]);
/** Those of Cloudflare and its tunnels, with a page or with JSON. */
const isOfProxy = (status: number) => proxyStatuses.has(status) || (status >= 520 && status <= 530);

/** Whether an answer says that something before the server failed, or that the server is busy; null for its own failures. */
export function gatewayCode(status: number): "proxy_error" | "server_busy" | null {
  if (busyStatuses.has(status)) return "server_busy";
  return isOfProxy(status) ? "proxy_error" : null;
}

/** The error for an unexpected answer; it does not contain the text of the answer. */
export function unexpectedAnswer(answer: Answer): AppError {
  const { status } = answer;
  // A limit of the server or its proxy: the server is healthy, and another one may have a higher limit.
  if (status === 413) {
    return new AppError("request_too_large", "The server takes no files of this size.", {
      details: { status },
    });
  }
  return new AppError(codeOf(answer), refusalText(status), { details: { status } });
}

/** The text for a status that says what is wrong with our address or credentials; undefined for others. */
export function refusalText(status: number): string | undefined {
  if (status === 401 || status === 403 || status === 407)
    return `The server or a proxy before it refuses the password, header or token that it is sent (HTTP ${status}).`;
  return status >= 300 && status < 400
    ? `The address leads to another page (HTTP ${status}), as that of a sign-in does.`
    : undefined;
}

function codeOf(answer: Answer): ErrorCode {
  const { status } = answer;
  if (isHtml(answer) || status < 400) return "proxy_error";
  return gatewayCode(status) ?? "engine_failed";
}

/** ComfyUI's own routes never answer with HTML. */
function isHtml({ contentType, text }: Answer): boolean {
  return contentType.includes("html") || /^\s*<(!doctype|html)/i.test(text);
}

/** The whole body. Throws `engine_failed` when it is longer than `maxBytes`. */
export async function readBody(response: Response, maxBytes: number): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of boundedChunks(response, maxBytes)) chunks.push(chunk);
  return Buffer.concat(chunks);
}

/** The body in chunks. Throws `engine_failed` as soon as it is longer than `maxBytes`. */
export async function* boundedChunks(response: Response, maxBytes: number): AsyncGenerator<Uint8Array> {
  let sizeBytes = 0;
  if (!response.body) return;
  for await (const chunk of response.body as AsyncIterable<Uint8Array>) {
    sizeBytes += chunk.byteLength;
    if (sizeBytes > maxBytes) {
      throw new AppError("engine_failed", "The server's answer is too large.", { details: { maxBytes } });
    }
    yield chunk;
  }
}

export interface Endpoint {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
}

interface Route {
  /** Path below the base address, without a leading slash; already encoded. */
  readonly path: string;
  readonly query?: Readonly<Record<string, string>>;
}

/** URL and headers of a route; credentials move from the address to a header. */
export function httpEndpoint(server: ComfyServer, route: Route): Endpoint {
  const url = baseOf(server);
  const headers = { ...credentialsOf(url), ...server.headers };
  url.username = "";
  url.password = "";
  url.hash = "";
  url.pathname = `${url.pathname.replace(/\/+$/, "")}/${route.path}`;
  const own = new URLSearchParams(route.query).toString();
  url.search = [server.query ?? "", own].filter(Boolean).join("&");
  return { url: url.href, headers };
}

/** The address of the server's socket: `ws:` for `http:`, `wss:` for `https:`. */
export function socketEndpoint(server: ComfyServer, clientId: string): Endpoint {
  const { url, headers } = httpEndpoint(server, { path: "ws", query: { clientId } });
  return { url: url.replace(/^http/, "ws"), headers };
}

function baseOf({ url }: ComfyServer): URL {
  const base = URL.canParse(url) ? new URL(url) : null;
  if (base && /^https?:$/.test(base.protocol)) return base;
  throw new AppError("bad_request", "The address of a ComfyUI server starts with http:// or https://.");
}

function credentialsOf({ username, password }: URL): Record<string, string> {
  if (!username && !password) return {};
  const pair = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`;
  return { authorization: `Basic ${Buffer.from(pair).toString("base64")}` };
}
