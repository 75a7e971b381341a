import { AppError, isAppError, isOutOfSpace, toAppError } from "@atelier/server/platform";
import { failureOf } from "./failure-of.ts";
import type { CallOptions, IopaintServer } from "./iopaint-server.ts";
import { send, type Answer } from "./client.ts";

export interface IopaintRequest {
  /** Below `/api/v1/`. */
  readonly route: string;
  /** Sent by POST. */
  readonly json?: unknown;
  readonly maxBytes: number;
}

/** The bytes of a good answer. Throws `server_lost`, `proxy_error`, `out_of_memory`, `engine_failed` and their like. */
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
  { url, headers = {} }: IopaintServer,
  { route, json, maxBytes }: IopaintRequest,
  { signal, timeoutMs }: CallOptions,
): Promise<Answer> {
  signal.throwIfAborted();
  const timeout = AbortSignal.timeout(timeoutMs);
  const body = json === undefined ? null : JSON.stringify(json);
  try {
    const both = AbortSignal.any([signal, timeout]);
    return await send({ url: `${url}/api/v1/${route}`, headers, body, maxBytes, signal: both });
  } catch (error) {
    signal.throwIfAborted();
    if (isAppError(error)) throw error;
    if (isOutOfSpace(error)) throw toAppError(error);
    const details = { reason: timeout.aborted ? "timeout" : reasonOf(error) };
    throw new AppError("server_lost", undefined, { details, cause: error });
  }
}

/** `refused`: nothing listens at the address, so the request never began. */
function reasonOf(error: unknown): "refused" | "unreachable" {
  const isRefused = error instanceof Error && "code" in error && error.code === "ECONNREFUSED";
  return isRefused ? "refused" : "unreachable";
}
