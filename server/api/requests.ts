import { type Caller, takePermitOf, trustedOrigins } from "../accounts/index.ts";
import { isDatabaseAway } from "../db/index.ts";
import {
  AppError,
  type Env,
  isAppError,
  isFunction,
  networksOf,
  parseRanges,
  requestIdHeader,
  streamMs,
  takePlace,
  toAppError,
  underRequestId,
  underTraceparent,
  visitorAddress,
} from "../platform/index.ts";
import type { Services } from "../services.ts";

function* causesOf(error: unknown): Generator<Error> {
  let current = error;
  for (let depth = 0; depth < 6 && current instanceof Error; depth += 1) {
    yield current;
    current = current.cause;
  }
}

/** The AppError that a caller sees: the first of the chain of causes, `database_unavailable`, `storage_unavailable`, or `internal`. */
export function classifyError(error: unknown): AppError {
  const causes = [...causesOf(error)];
  const known = causes.find(isAppError);
  if (known) return known;
  if (causes.some(isDatabaseAway)) return new AppError("database_unavailable", undefined, { cause: error });
  return toAppError(error);
}

/**
 * Marks an answer as one for this caller: no cache on the way keeps what does not say that it may be kept, and none hands
 * to one caller what was made for another.
 */
export function keepPrivate({ headers }: Response): void {
  if (!headers.has("cache-control")) headers.set("cache-control", "no-store");
  if (!/\bpublic\b/.test(headers.get("cache-control") ?? "")) headers.append("vary", "Cookie, Authorization");
}

/** Answers a request under its id, which the answer carries as well; for this caller alone, see `keepPrivate`. */
export function withRequestId(
  request: Request,
  answer: () => Promise<Response> | Response,
): Promise<Response> {
  const { headers } = request;
  const received = {
    id: headers.get(requestIdHeader),
    forwardedFor: headers.get("x-forwarded-for"),
    agent: headers.get("user-agent"),
  };
  return underRequestId(received, async (requestId) => {
    const response = await underTraceparent(headers.get("traceparent"), async () => answer());
    response.headers.set(requestIdHeader, requestId);
    keepPrivate(response);
    return response;
  });
}

/** Far above any JSON that the API takes. */
export const maxJsonBytes = 1_048_576;

/** Whether a body is said to be JSON. Pages of other sites can send forms and plain text without asking first, but not JSON. */
export const isJson = ({ headers }: Pick<Request, "headers">): boolean =>
  /^application\/json\b/i.test(headers.get("content-type") ?? "");

/**
 * The body of a request, unpacked; null when it is larger than `maxBytes`, which is noticed without reading on. Throws
 * `bad_request` for another packing than gzip.
 */
export async function readLimited(
  request: Pick<Request, "headers" | "body">,
  maxBytes: number,
): Promise<Uint8Array<ArrayBuffer> | null> {
  if (Number(request.headers.get("content-length") ?? 0) > maxBytes) return null;
  const chunks: Uint8Array[] = [];
  let sizeBytes = 0;
  for await (const chunk of unpacked(request)) {
    sizeBytes += chunk.byteLength;
    if (sizeBytes > maxBytes) return null;
    chunks.push(chunk);
  }
  const body = new Uint8Array(sizeBytes);
  let offset = 0;
  for (const chunk of chunks) {
    body.set(chunk, offset);
    offset += chunk.byteLength;
  }
  return body;
}

async function* unpacked({ headers, body }: Pick<Request, "headers" | "body">): AsyncGenerator<Uint8Array> {
  const packing = headers.get("content-encoding")?.trim().toLowerCase() ?? "";
  if (!body || packing === "" || packing === "identity") return yield* body ?? [];
  if (packing !== "gzip" && packing !== "x-gzip")
    throw new AppError(
      "bad_request",
      "Send the body as it is or packed with gzip: no other Content-Encoding is read.",
    );
  try {
    yield* body.pipeThrough(new DecompressionStream("gzip"));
  } catch (cause) {
    if (!(cause instanceof TypeError)) throw cause;
    throw new AppError("bad_request", "The body is not packed with gzip, as its Content-Encoding says.", {
      cause,
    });
  }
}

/** Whether the browser reports that a page of another site caused the request. */
export function isCrossSite(env: Pick<Env, "APP_URL" | "HOST">, request: Request): boolean {
  const origin = request.headers.get("origin");
  if (origin) return !trustedOrigins(env, request).includes(origin);
  return ["cross-site", "same-site"].includes(request.headers.get("sec-fetch-site") ?? "");
}

/**
 * Refuses a write that a browser may have sent for another site; throws `forbidden`.
 * Browsers send Origin with every write, and Sec-Fetch-Site on secure addresses and localhost.
 */
function assertSameOrigin(env: Pick<Env, "APP_URL" | "HOST">, request: Request): void {
  const origin = request.headers.get("origin");
  const isSame = origin
    ? trustedOrigins(env, request).includes(origin)
    : request.headers.get("sec-fetch-site") === "same-origin";
  if (!isSame) throw new AppError("forbidden", "The request comes from another site.");
}

/**
 * Admits a write that rests on a cookie, or on nothing: it must come from a page of the studio and be within the user's
 * limit. A request with an API key has passed its own limit. Throws `forbidden` or `rate_limited`.
 */
export async function admitWrite(
  services: Services,
  request: Request,
  { caller, counts = "writes" }: Writing,
): Promise<void> {
  if (caller?.via === "api_key") return;
  assertSameOrigin(services.env, request);
  if (!caller || counts === null) return;
  if (!(await takePermitOf(services, counts, caller.userId))) throw overLimit();
}

/** Limits of a minute begin anew with each one. */
function overLimit(): AppError {
  return new AppError("rate_limited", undefined, { details: { retryAfterS: 60 - new Date().getSeconds() } });
}

interface Writing {
  readonly caller: Caller | null;
  /** The limit that it counts against; null: none. */
  readonly counts?: "writes" | "uploads" | "identified" | null | undefined;
}

/** Admits a read that rests on a cookie. Throws `rate_limited` above the user's limit. */
export async function admitRead(services: Services, caller: Caller | null): Promise<void> {
  if (caller?.via !== "session") return;
  if (!(await takePermitOf(services, "reads", caller.userId))) throw overLimit();
}

/** Admits a request that needs no account, by the networks that it comes from. Throws `rate_limited` above its limit. */
export async function admitNetwork(
  services: Services,
  headers: Headers,
  counts: "visits" | "linkPasswords" | "webhooks",
  what = "",
): Promise<void> {
  for (const { name, times } of networksOf(headers.get("x-forwarded-for") ?? ""))
    if (!(await takePermitOf(services, counts, `${what}${name}`, times))) throw new AppError("rate_limited");
}

/** Runs work that holds much as one of its few. Throws `rate_limited` above a limit. */
export async function asOneOfFew<T>(
  { services, caller }: { readonly services: Services; readonly caller: Caller },
  kind: "answer" | "fetch" | "trial",
  work: () => Promise<T>,
): Promise<T> {
  const giveBack = takePlace(services, kind, caller);
  try {
    return await work();
  } finally {
    giveBack();
  }
}

/** A stream whose reader takes nothing is not looked at when it should end; it is ended from outside this much later. */
const stalledAfterMs = 60_000;
const stalledAfterMsOfFunction = 1_000;

/** How long a stream lasts here; the client opens the next one where it ended. */
export function streamTimesOf(env: Pick<Env, "FUNCTION_SECONDS">) {
  const lengthMs = streamMs(env);
  return { lengthMs, stalledMs: lengthMs + (isFunction(env) ? stalledAfterMsOfFunction : stalledAfterMs) };
}

/**
 * The same request with the one address of its visitor in X-Forwarded-For. Functions have no front door, and their platform may
 * hand on what the client sent in front of what it adds itself.
 */
export function withVisitor(
  env: Pick<Env, "FUNCTION_SECONDS" | "TRUSTED_PROXIES">,
  request: Request,
): Request {
  const hops = request.headers.get("x-forwarded-for");
  if (!isFunction(env) || !hops?.includes(",")) return request;
  const headers = new Headers(request.headers);
  headers.set("x-forwarded-for", visitorAddress(hops, parseRanges(env.TRUSTED_PROXIES)));
  return new Request(request, { headers });
}

export interface DrainBounds {
  readonly maxBytes: number;
  readonly maxMs: number;
}

/** Limits of an upload: its bytes, and the time for them on a slow connection. */
const usualBounds: DrainBounds = { maxBytes: 520 * 1_048_576, maxMs: 30_000 };

/**
 * The same request, whose body is read to its end and thrown away when the handler leaves it: the HTTP server stops
 * reading a connection with a cancelled body, and the next request on it would hang until it is reset.
 */
export function withDrainedBody(request: Request, bounds: DrainBounds = usualBounds): Request {
  const { body, method, headers, signal } = request;
  if (!body) return request;
  const reader = body.getReader();
  const kept = new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const { done, value } = await reader.read();
        if (done) controller.close();
        else controller.enqueue(value);
      },
      cancel() {
        // Not awaited: the answer is sent while the rest of the body arrives.
        void drain(reader, bounds);
      },
    },
    { highWaterMark: 0 },
  );
  // Node asks for it with a streamed body; the DOM's types lack it.
  const halfDuplex = { duplex: "half" };
  return new Request(request.url, { method, headers, signal, body: kept, ...halfDuplex });
}

/** A client that sends more, or too slowly, loses its connection: what it sends next could not be read anyway. */
async function drain(reader: ReadableStreamDefaultReader<Uint8Array>, bounds: DrainBounds): Promise<void> {
  const late = AbortSignal.timeout(bounds.maxMs);
  const stop = () => void reader.cancel().catch(() => undefined);
  late.addEventListener("abort", stop, { once: true });
  let sizeBytes = 0;
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      sizeBytes += value.byteLength;
      if (sizeBytes > bounds.maxBytes) return stop();
    }
  } catch {
    // The client has gone.
  } finally {
    late.removeEventListener("abort", stop);
  }
}
