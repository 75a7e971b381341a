import type { IncomingMessage } from "node:http";
import { isObject, type JsonObject } from "../json.ts";
import type { Comfy } from "../server/comfy.ts";
import type { Answer } from "./answer.ts";

/** A request on its way to its route. */
export interface Call {
  readonly comfy: Comfy;
  readonly method: string;
  /** Without the prefix "/api". */
  readonly path: string;
  readonly isBelowApi: boolean;
  /** What the route's pattern caught. */
  readonly params: readonly string[];
  readonly query: URLSearchParams;
  readonly headers: IncomingMessage["headers"];
  /** Throws TooLarge beyond 100 MB. */
  readBody(): Promise<Buffer>;
}

export type Handler = (call: Call) => Promise<Answer> | Answer;

export class TooLarge extends Error {}

const mostBytes = 104_857_600;

/** The body as JSON; throws, and so leads to a 500, when it is none. */
export async function readJson(call: Call): Promise<unknown> {
  const value: unknown = JSON.parse((await call.readBody()).toString());
  return value;
}

/** Whether Python's `in` works on it: an object or a list, of which the latter has no names. */
export function membersOf(value: unknown): JsonObject {
  if (isObject(value)) return value;
  if (Array.isArray(value) || typeof value === "string") return {};
  throw new TypeError("argument is not iterable");
}

/** Python's int() of a query parameter; null when it is not there. */
export function integerOf(query: URLSearchParams, name: string): number | null {
  const text = query.get(name);
  if (text === null) return null;
  if (!/^\s*[+-]?\d+\s*$/.test(text)) throw new TypeError(`invalid literal for int(): '${text}'`);
  return Number(text);
}

/** Reads the whole body. */
export async function readBody(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let sizeBytes = 0;
  for await (const chunk of request) {
    const bytes = Buffer.from(chunk);
    sizeBytes += bytes.length;
    if (sizeBytes > mostBytes) throw new TooLarge(String(sizeBytes));
    chunks.push(bytes);
  }
  return Buffer.concat(chunks);
}
