import type { IncomingMessage } from "node:http";
import { isObject, type JsonObject } from "../options.ts";
import type { Comfy } from "../server/session.ts";

/** An answer before it goes over the wire. */
export interface Answer {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body: string | Buffer;
}

/** What JavaScript makes of the largest seed, and what it is. */
const rounded = "18446744073709552000";
const largestSeed = "18446744073709551615";

/** JSON as aiohttp sends it. */
export function json(value: unknown, status = 200): Answer {
  const headers = { "content-type": "application/json; charset=utf-8" };
  return { status, headers, body: JSON.stringify(value).replaceAll(rounded, largestSeed) };
}

/** No body and no type, as aiohttp's bare responses are. */
export function empty(status: number): Answer {
  return { status, body: "" };
}

/** What the static files answer to a path that leads nowhere. */
export const unknownPath: Answer = {
  status: 404,
  headers: { "content-type": "application/octet-stream" },
  body: "",
};

/** Plain text. */
export function text(status: number, body: string): Answer {
  return { status, headers: { "content-type": "text/plain; charset=utf-8" }, body };
}

const trouble = text(500, "500 Internal Server Error\n\nServer got itself in trouble");

/** What an exception in a handler leads to. */
export const serverTrouble: Answer = { ...trouble, headers: { ...trouble.headers, connection: "close" } };

/** The server's own limit of bodies. */
export const bodyTooLarge = text(413, "Maximum request body size 104857600 exceeded.");

const phrases: Readonly<Record<number, string>> = {
  401: "Authorization Required",
  413: "Request Entity Too Large",
  502: "Bad Gateway",
  503: "Service Temporarily Unavailable",
  504: "Gateway Time-out",
};

/** An error page as nginx writes it. */
export function proxyPage(status: number): Answer {
  const title = `${status} ${phrases[status] ?? "Error"}`;
  const body = [
    "<html>",
    `<head><title>${title}</title></head>`,
    "<body>",
    `<center><h1>${title}</h1></center>`,
    "<hr><center>nginx/1.22.1</center>",
    "</body>",
    "</html>",
    "",
  ].join("\r\n");
  return { status, headers: { "content-type": "text/html", server: "nginx/1.22.1" }, body };
}

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

export interface SentFile {
  readonly bytes: Buffer;
  readonly modifiedAt: Date;
  readonly headers: Readonly<Record<string, string>>;
}

/** A file as aiohttp sends it: with a tag and a date, whole, in part or not at all. */
export function sendFile({ headers: asked }: Call, { bytes, modifiedAt, headers }: SentFile): Answer {
  const etag = `"${modifiedAt.getTime().toString(16)}-${bytes.length.toString(16)}"`;
  const marks = { etag, "last-modified": modifiedAt.toUTCString(), "accept-ranges": "bytes" };
  if (isUnchanged(asked, { etag, modifiedAt })) {
    return { ...empty(304), headers: { ...headers, etag, "last-modified": marks["last-modified"] } };
  }
  const range = asked.range === undefined ? null : rangeOf(asked.range, bytes.length);
  if (!range) return { status: 200, headers: { ...headers, ...marks }, body: bytes };
  const [from, to] = range;
  if (from >= bytes.length || from > to) {
    const outside = { "content-range": `bytes */${bytes.length}` };
    return { status: 416, headers: { ...headers, ...outside }, body: "" };
  }
  const part = { "content-range": `bytes ${from}-${to}/${bytes.length}` };
  return { status: 206, headers: { ...headers, ...marks, ...part }, body: bytes.subarray(from, to + 1) };
}

function isUnchanged(
  asked: Call["headers"],
  { etag, modifiedAt }: { etag: string; modifiedAt: Date },
): boolean {
  const known = asked["if-none-match"];
  if (known !== undefined) return known.split(",").some((tag) => [etag, "*"].includes(tag.trim()));
  const since = Date.parse(asked["if-modified-since"] ?? "");
  // The header has no parts of a second.
  return since >= Math.trunc(modifiedAt.getTime() / 1000) * 1000;
}

/** First and last byte; null for a header that asks for no single range. */
function rangeOf(header: string, length: number): [from: number, to: number] | null {
  const [, from = "", to = ""] = /^bytes=(\d*)-(\d*)$/.exec(header) ?? [];
  if (from === "" && to === "") return null;
  if (from === "") return [Math.max(0, length - Number(to)), length - 1];
  return [Number(from), to === "" ? length - 1 : Math.min(Number(to), length - 1)];
}

export interface Form {
  readonly fields: ReadonlyMap<string, string>;
  readonly image: { readonly name: string; readonly bytes: Buffer } | null;
}

/** Reads a multipart form; null when it is none. */
export async function readForm(call: Call): Promise<Form | null> {
  const type = call.headers["content-type"] ?? "";
  const body = new Uint8Array(await call.readBody());
  const form = await parse(body, type);
  if (!form) return null;
  const fields = new Map<string, string>();
  let image: Form["image"] = null;
  for (const [name, value] of form) {
    if (typeof value === "string") fields.set(name, value);
    else if (name === "image")
      image = { name: rawName(value), bytes: Buffer.from(await value.arrayBuffer()) };
  }
  return { fields, image };
}

/** aiohttp leaves the signs that a form's sender escaped as they came. */
function rawName({ name }: File): string {
  return name.replaceAll('"', "%22").replaceAll("\r", "%0D").replaceAll("\n", "%0A");
}

async function parse(body: Uint8Array<ArrayBuffer>, type: string): Promise<FormData | null> {
  try {
    return await new Response(body, { headers: { "content-type": type } }).formData();
  } catch {
    return null;
  }
}
