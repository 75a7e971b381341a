import http from "node:http";
import https from "node:https";
import { z } from "zod";
import {
  AppError,
  type ErrorCode,
  faultOfAddress,
  foreignText,
  parseForeignJson,
  isAppError,
  isOutOfSpace,
  toAppError,
} from "@atelier/server/platform";
import { gatewayCode, unfitFailure, refusalText, unreachableText } from "../comfyui/index.ts";

/** One IOPaint server. */
export interface IopaintServer {
  /** Base address without credentials; may have a path prefix. */
  readonly url: string;
  /** Sent with each request. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Part of each request, without its question mark; may hold a token. */
  readonly query?: string;
}

/** Bounds of one call. */
export interface CallOptions {
  /** Aborting rejects the call with the signal's reason. The server continues, because IOPaint cannot cancel. */
  readonly signal: AbortSignal;
  /** Until the whole answer was read. */
  readonly timeoutMs: number;
}

export interface IopaintRequest {
  /** Below `/api/v1/`. */
  readonly route: string;
  /** Sent by POST. */
  readonly json?: unknown;
  readonly maxBytes: number;
}

/** The bytes of a 200 answer. Throws `server_lost` or one of the codes of `failureOf`. */
export async function call(
  server: IopaintServer,
  request: IopaintRequest,
  options: CallOptions,
): Promise<Buffer> {
  const { status, bytes } = await ask(server, request, options);
  if (status !== 200) throw failureOf({ status }, bytes.toString("utf8"));
  return bytes;
}

async function ask(
  { url: base, headers = {}, query = "" }: IopaintServer,
  { route, json, maxBytes }: IopaintRequest,
  { signal, timeoutMs }: CallOptions,
): Promise<Answer> {
  signal.throwIfAborted();
  const timeout = AbortSignal.timeout(timeoutMs);
  const body = json === undefined ? null : JSON.stringify(json);
  try {
    const both = AbortSignal.any([signal, timeout]);
    const url = `${base}/api/v1/${route}${query && `?${query}`}`;
    return await send({ url, headers, body, maxBytes, signal: both });
  } catch (error) {
    signal.throwIfAborted();
    if (isAppError(error)) throw error;
    if (isOutOfSpace(error)) throw toAppError(error);
    const reason = timeout.aborted ? "timeout" : reasonOf(error);
    throw new AppError("server_lost", messageOf(reason, networkCode(error), body !== null), {
      details: { reason },
      cause: error,
    });
  }
}

/** Undefined for a run whose connection broke: the usual text says that its server went away. */
function messageOf(
  reason: "timeout" | "refused" | "unreachable",
  code: string,
  isRun: boolean,
): string | undefined {
  if (reason === "timeout") return "The server did not answer in time.";
  const hasBroken = reason === "unreachable" && faultOfAddress(code) === "";
  return hasBroken && isRun ? undefined : unreachableText(code);
}

/** `refused`: nothing listens at the address, so the request never began. */
function reasonOf(error: unknown): "refused" | "unreachable" {
  return networkCode(error) === "ECONNREFUSED" ? "refused" : "unreachable";
}

const networkCode = (error: unknown) => (error instanceof Error && "code" in error ? String(error.code) : "");

interface SentRequest {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Sent by POST as JSON; null for GET. */
  readonly body: string | null;
  /** Limit of a 200 answer. */
  readonly maxBytes: number;
  readonly signal: AbortSignal;
}

interface Answer {
  readonly status: number;
  /** For a status other than 200 only the first 64 KiB or a little more. */
  readonly bytes: Buffer;
}

/**
 * Sends one request on its own connection. Not `fetch`, which fails when the first byte takes five minutes: this server
 * sends nothing until the picture is done.
 */
function send({ url, headers, body, maxBytes, signal }: SentRequest): Promise<Answer> {
  const { request } = url.startsWith("https:") ? https : http;
  const type =
    body === null ? {} : { "content-type": "application/json", "content-length": Buffer.byteLength(body) };
  return new Promise((resolve, reject) => {
    const options = {
      method: body === null ? "GET" : "POST",
      // What a proxy packs would not be unpacked here.
      headers: { ...headers, ...type, "accept-encoding": "identity" },
      agent: false,
      signal,
    };
    const sent = request(url, options, (response) => {
      const status = response.statusCode ?? 0;
      const read = status === 200 ? readBody(response, maxBytes) : readStart(response);
      read.then((bytes) => resolve({ status, bytes }), reject);
    });
    sent.on("error", reject);
    // Without this nothing is reported when a proxy switches the protocol, not even an abort.
    sent.once("upgrade", (_answer, socket) => {
      socket.destroy();
      reject(new Error("The protocol was switched instead of an answer."));
    });
    sent.end(body ?? undefined);
  });
}

const enoughBytes = 64 * 1024;

/** The start of an error answer, which is enough to classify it; leaving the loop closes the connection. */
async function readStart(response: AsyncIterable<Buffer>): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let sizeBytes = 0;
  for await (const chunk of response) {
    chunks.push(chunk);
    sizeBytes += chunk.length;
    if (sizeBytes > enoughBytes) break;
  }
  return Buffer.concat(chunks);
}

async function readBody(response: AsyncIterable<Buffer>, maxBytes: number): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let sizeBytes = 0;
  for await (const chunk of response) {
    sizeBytes += chunk.length;
    if (sizeBytes > maxBytes) throw new AppError("engine_failed", "The server's answer is too large.");
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

/** Memory errors of torch, on graphics cards and on the CPU. */
const memoryPattern =
  /OutOfMemory|out of memory|can't allocate memory|not enough memory|ran out of memory|\bMemoryError/i;
const cpuPattern = /DefaultCPUAllocator|\bMemoryError|alloc_cpu/;

/** The error body of a server. Its texts may hold paths, so only admins see them. */
interface Failure {
  readonly error?: unknown;
  readonly detail?: unknown;
  readonly errors?: unknown;
}

/** The error for an answer that is not 200. */
function failureOf({ status }: { readonly status: number }, text: string): AppError {
  // A limit of the server or its proxy: the server is healthy, and another one may have a higher limit.
  if (status === 413) {
    return new AppError("request_too_large", "The server takes no files of this size.", {
      details: { status },
    });
  }
  const refusal = refusalText(status);
  if (refusal !== undefined) return new AppError("proxy_error", refusal, { details: { status } });
  const failure = parse(text);
  const code = failure ? codeOf(status, failure) : proxyCode(status);
  const exception = failure && exceptionOf(failure);
  const unfit = code === "engine_failed" && exception && unfitFailure(exception, { status, exception });
  if (unfit) return unfit;
  return new AppError(code, undefined, { details: { status, ...(exception ? { exception } : {}) } });
}

/** Name and message of the Python exception, or what FastAPI says of a request that it does not take. */
function exceptionOf({ error, detail, errors }: Failure): string {
  const parts = [error, errors].filter((part) => typeof part === "string" && part !== "");
  return foreignText.parse((parts.length > 0 ? parts : detailsOf(detail)).join(": "));
}

const wrongField = z.object({ loc: z.array(z.union([z.string(), z.number()])), msg: z.string() });

/** A sentence, or a list of fields with what is wrong with each. */
function detailsOf(detail: unknown): string[] {
  if (typeof detail === "string") return [detail];
  const { data } = z.array(wrongField).safeParse(detail);
  return data?.slice(0, 1).flatMap(({ loc, msg }) => [loc.join("."), msg]) ?? [];
}

function codeOf(status: number, { error, detail, errors }: Failure): ErrorCode {
  const gateway = status > 500 ? gatewayCode(status) : null;
  if (gateway) return gateway;
  const text = [error, JSON.stringify(detail), errors].map(String).join("\n");
  if (memoryPattern.test(text)) return cpuPattern.test(text) ? "out_of_memory" : "gpu_out_of_memory";
  if (status === 422) return "node_missing";
  return status === 429 ? "server_busy" : "engine_failed";
}

/** IOPaint answers every failure in JSON, so an answer without JSON comes from a proxy. */
function proxyCode(status: number): ErrorCode {
  return gatewayCode(status) ?? "proxy_error";
}

function parse(text: string): Failure | null {
  const value = parseForeignJson(text);
  return typeof value === "object" && value !== null ? value : null;
}
