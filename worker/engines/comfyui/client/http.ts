import { AppError, isOutOfSpace } from "@atelier/server/platform";
import type { CallOptions, ComfyServer } from "./comfy-server.ts";
import { httpEndpoint, type Route } from "./endpoint.ts";

export interface Request extends Route {
  /** Sent as JSON by POST. */
  readonly json?: unknown;
  /** Sent as multipart by POST. */
  readonly form?: FormData;
}

const defaultTimeoutMs = 10_000;

/** Reads the answer of one request with `read`; its signal covers the body as well. Throws `server_lost`. */
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
  // A redirect leads to a page of a proxy, never to another place of the same server.
  const redirect = "manual";
  if (form) return { method: "POST", body: form, headers, redirect };
  if (json === undefined) return { headers, redirect };
  const type = { "content-type": "application/json" };
  return { method: "POST", body: JSON.stringify(json), headers: { ...headers, ...type }, redirect };
}

/** A kept connection that the other side closed meanwhile says nothing about the server: reads are sent once more. */
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

function toServerLost(error: unknown, timeout: AbortSignal): unknown {
  if (timeout.aborted) {
    return new AppError("server_lost", "The server did not answer in time.", {
      details: { reason: "timeout" },
      cause: error,
    });
  }
  // Only the network's failures are TypeErrors; a full disk or no free file handle is not the server's fault.
  if (!(error instanceof TypeError) || isOutOfSpace(error)) return error;
  const reason = networkCode(error) || "unreachable";
  return new AppError("server_lost", "The server cannot be reached.", { details: { reason }, cause: error });
}

/** The code of the failure below `fetch failed`, such as ECONNREFUSED; of several addresses, the first one's. */
function networkCode(error: unknown): string {
  const cause = error instanceof Error ? error.cause : null;
  const first = cause instanceof AggregateError ? (cause.errors[0] as unknown) : cause;
  return first instanceof Error && "code" in first ? String(first.code) : "";
}
