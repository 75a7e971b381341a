import type { Call } from "./call.ts";
import { empty, type Answer } from "./answer.ts";

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
