import type { ZodType } from "zod";
import type { CallOptions, ComfyServer } from "./comfy-server.ts";
import { readBody } from "./read-body.ts";
import { refusalOf, type Answer } from "./refusal.ts";
import { send, type Request } from "./http.ts";

const defaultMaxBytes = 8 * 1024 * 1024;

export interface Ask extends Request {
  /** Longest answer. Default 8 MiB. */
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

/** The JSON of a good answer. Throws `proxy_error`, `server_busy`, `request_too_large` or `engine_failed` for any other. */
export function jsonOf<T>(answer: Answer, schema: ZodType<T>): T {
  const parsed = answer.status === 200 ? schema.safeParse(parseJson(answer.text)) : null;
  if (!parsed?.success) throw refusalOf(answer);
  return parsed.data;
}

/** For routes that answer 200 and nothing else. */
export function requireDone(answer: Answer): void {
  if (answer.status !== 200) throw refusalOf(answer);
}

/** Undefined when the text is no JSON. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
