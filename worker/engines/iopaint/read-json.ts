import type { ZodType } from "zod";
import { AppError } from "@atelier/server/platform";
import { call } from "./call.ts";
import type { CallOptions, IopaintServer } from "./iopaint-server.ts";

const maxBytes = 2 * 1024 * 1024;

export interface JsonRoute<T> {
  readonly route: string;
  readonly schema: ZodType<T>;
}

/** A JSON answer. Throws `proxy_error` when it is not what an IOPaint server says. */
export async function readJson<T>(
  server: IopaintServer,
  { route, schema }: JsonRoute<T>,
  options: CallOptions,
): Promise<T> {
  const bytes = await call(server, { route, maxBytes }, options);
  try {
    return schema.parse(JSON.parse(bytes.toString("utf8")));
  } catch (cause) {
    throw new AppError("proxy_error", undefined, { cause });
  }
}
