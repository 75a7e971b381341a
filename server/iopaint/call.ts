import { AppError } from "../platform/index.ts";
import { failureOf } from "./failure-of.ts";
import type { CallOptions, IopaintServer } from "./iopaint-server.ts";

export interface IopaintRequest {
  /** Below `/api/v1/`. */
  readonly route: string;
  /** Sent by POST. */
  readonly json?: unknown;
  readonly maxBytes: number;
}

/** The bytes of a good answer. Throws `server_lost`, `proxy_error`, `out_of_memory`, `engine_failed` and their like. */
export async function call(
  { url, headers }: IopaintServer,
  request: IopaintRequest,
  { signal, timeoutMs }: CallOptions,
): Promise<Buffer> {
  signal.throwIfAborted();
  const timeout = AbortSignal.timeout(timeoutMs);
  try {
    const response = await fetch(`${url}/api/v1/${request.route}`, {
      ...bodyOf(request, headers),
      redirect: "manual",
      signal: AbortSignal.any([signal, timeout]),
    });
    const bytes = await readBody(response, request.maxBytes);
    if (response.status !== 200) throw failureOf(response, bytes.toString("utf8"));
    return bytes;
  } catch (error) {
    signal.throwIfAborted();
    throw lossOf(error, timeout);
  }
}

function bodyOf({ json }: IopaintRequest, headers: IopaintServer["headers"]): RequestInit {
  if (json === undefined) return { headers: { ...headers } };
  const type = { "content-type": "application/json" };
  return { method: "POST", body: JSON.stringify(json), headers: { ...headers, ...type } };
}

async function readBody(response: Response, maxBytes: number): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  let sizeBytes = 0;
  for await (const chunk of response.body ?? []) {
    sizeBytes += chunk.byteLength;
    if (sizeBytes > maxBytes) throw new AppError("engine_failed", "The server's answer is too large.");
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

function lossOf(error: unknown, timeout: AbortSignal): unknown {
  const details = { reason: timeout.aborted ? "timeout" : "unreachable" };
  // Only the network's failures are TypeErrors.
  if (!timeout.aborted && !(error instanceof TypeError)) return error;
  return new AppError("server_lost", undefined, { details, cause: error });
}
