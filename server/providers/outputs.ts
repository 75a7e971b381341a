import type { ProviderOutput } from "./port.ts";
import { readRecord } from "./read.ts";

/** Deeper parts of an answer, and further pictures of it, are not read. */
const maxDepth = 8;
const maxOutputs = 32;

/** Members that are the picture itself, the most direct one first: an object with several of them is one picture. */
const pictureMembers = [
  "b64_json",
  "bytesBase64Encoded",
  "base64",
  "b64",
  "data",
  "bytes",
  "url",
  "uri",
  "fileUri",
  "image_url",
  "imageUrl",
  "href",
  "downloadUrl",
];

/** Members that hold the pictures of an answer which has other texts and addresses beside them. */
const resultMembers = [
  "images",
  "image",
  "resultUrls",
  "resultObject",
  "output",
  "outputs",
  "results",
  "result",
  "raw",
  "pictures",
  "data",
  "predictions",
];

/** Beside the picture of a run: what it worked with or made on the way. */
const isBeside = /mask|preview|thumb|prompt|video|audio|logs?$|input|request/i;

/**
 * The pictures of an answer, whatever its shape: addresses, `data:` URIs, base64 with or without a prefix, alone, in lists
 * or inside of objects. Each once, in their order; what is none of these is left out.
 */
export function outputsOf(value: unknown): ProviderOutput[] {
  const seen = new Set<string>();
  const found = search(value, maxDepth).filter((output) => {
    if ("bytes" in output || !seen.has(output.url)) return "bytes" in output || Boolean(seen.add(output.url));
    return false;
  });
  return found.slice(0, maxOutputs);
}

function search(value: unknown, depth: number): ProviderOutput[] {
  if (typeof value === "string") return outputOfText(value);
  if (typeof value !== "object" || value === null || depth === 0) return [];
  if (Array.isArray(value)) return value.slice(0, maxOutputs).flatMap((item) => search(item, depth - 1));
  const record = readRecord(value);
  if (isOfOtherType(record)) return [];
  for (const name of pictureMembers) {
    const member = record[name];
    const [own] = typeof member === "string" ? outputOfMember(name, member) : [];
    if (own) return [own];
  }
  for (const name of resultMembers) {
    const inner = search(record[name], depth - 1);
    if (inner.length > 0) return inner;
  }
  const others = Object.entries(record).filter(([name]) => !isBeside.test(name));
  return others.slice(0, maxOutputs).flatMap(([, item]) => search(item, depth - 1));
}

/** A file that says to be no picture, such as a film beside its first frame. */
function isOfOtherType(record: Readonly<Record<string, unknown>>): boolean {
  const type = record["content_type"] ?? record["contentType"] ?? record["mimeType"] ?? record["mime_type"];
  return typeof type === "string" && /^(video|audio|text)\/|json/i.test(type);
}

/** What is named as base64 is the picture, whatever it begins with. */
function outputOfMember(name: string, text: string): ProviderOutput[] {
  const found = outputOfText(text);
  if (found.length > 0 || !/b64|base64/i.test(name)) return found;
  const bytes = text === "" ? null : bytesOfText(text.trim());
  return bytes ? [{ bytes }] : [];
}

function outputOfText(text: string): ProviderOutput[] {
  const trimmed = text.trim();
  if (/^https?:\/\//i.test(trimmed)) return URL.canParse(trimmed) ? [{ url: trimmed }] : [];
  if (drawing.test(trimmed.slice(0, 1_000))) return [{ bytes: Buffer.from(trimmed) }];
  const bytes = bytesOfText(trimmed);
  return bytes && isPictureStart(bytes) ? [{ bytes }] : [];
}

const dataUri = /^(?:data:)?(?:(?:image|application)\/[\w.+-]+)?((?:;[\w.+-]+(?:=[^;,]*)?)*),/i;

/** The bytes of a `data:` URI, of base64 with or without such a prefix; null for another text. */
export function bytesOfText(text: string): Buffer | null {
  const head = /^(?:data:|image\/|base64,)/i.test(text) ? prefixOf(text) : null;
  if (head === null) return bytesOfBase64(text);
  const rest = text.slice(head.length);
  if (/;\s*base64,$|^base64,$/i.test(head)) return bytesOfBase64(decodePercent(rest).toString("latin1"));
  return decodePercent(rest);
}

function prefixOf(text: string): string {
  return dataUri.exec(text.slice(0, 300))?.[0] ?? /^base64,/i.exec(text)?.[0] ?? "";
}

/** Bytes written as themselves or as `%xx`; an invalid sequence stays as it is. */
function decodePercent(text: string): Buffer {
  if (!text.includes("%")) return Buffer.from(text, "latin1");
  return Buffer.from(
    text.replaceAll(/%([\da-f]{2})/gi, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16))),
    "latin1",
  );
}

/** Both alphabets, with or without line breaks and padding. */
function bytesOfBase64(text: string): Buffer | null {
  // Without blanks at the end: before another character a megabyte of them would be tried in each of its parts.
  const isBase64 = /^[\w+/\-\s]+={0,2}$/.test(text.trimEnd());
  return isBase64 ? Buffer.from(text, "base64") : null;
}

const signatures: readonly (readonly [number, string])[] = [
  [0, "\x89PNG"],
  [0, "\xff\xd8\xff"],
  [0, "RIFF"],
  [0, "GIF8"],
  [4, "ftyp"],
  [0, "II*\0"],
  [0, "MM\0*"],
  [0, "BM"],
];

/** SVG, behind the head of XML and comments. */
const drawing =
  /^(?:\xef\xbb\xbf)?\s*(?:<\?xml[^>]*>\s*)?(?:<!--(?:(?!-->)[^])*-->\s*)*(?:<!doctype svg[^>]*>\s*)?<svg[\s>]/i;

/** Whether bytes begin as a picture does; models for logos and icons answer with drawings (SVG). */
export function isPictureStart(bytes: Uint8Array): boolean {
  const start = Buffer.from(bytes.subarray(0, 1_000)).toString("latin1");
  return signatures.some(([at, text]) => start.startsWith(text, at)) || drawing.test(start);
}

/** Names of flags by which models mark a picture as refused. */
const flagName =
  /nsfw|unsafe|is_?(?:blocked|filtered|flagged)|^(?:blocked|filtered|flagged)$|safety_?(?:flagged|blocked|filtered)/i;

/**
 * For each picture whether the answer marks it as refused by its content; a flag without a list counts for all. Such a
 * picture is black, or is not to be shown.
 */
export function flagsOf(value: unknown, count: number, depth = maxDepth): boolean[] {
  const record = readRecord(value);
  const flags = Array.from({ length: count }, () => false);
  // Without a mark nothing of the pictures needs to be read again.
  if (!hasMark(value, depth)) return flags;
  const mark = (marked: readonly number[]) => {
    for (const place of marked) if (place < count) flags[place] = true;
  };
  const markAll = (marks: readonly boolean[], list: readonly unknown[]) => {
    if (!marks.includes(true)) return;
    const places = placesIn(list);
    mark(marks.flatMap((isMarked, at) => (isMarked ? (places[at] ?? [at]) : [])));
  };
  for (const [name, member] of Object.entries(record)) {
    if (flagName.test(name) && Array.isArray(member))
      markAll(member.map(isSet), listOf(record, member.length));
    else if (isMark(name, member)) flags.fill(true);
  }
  for (const name of resultMembers) {
    const member = record[name];
    const [items, places] = Array.isArray(member)
      ? [member.slice(0, maxOutputs), placesIn(member)]
      : [[member], [[...flags.keys()]]];
    for (const [at, item] of items.entries()) mark(markedIn(item, places[at] ?? [], depth));
  }
  return flags;
}

/** Those of the places of an item whose pictures it marks: a list of flags beside a list of pictures says which, any other all. */
function markedIn(item: unknown, places: readonly number[], depth: number): readonly number[] {
  if (typeof item !== "object" || item === null) return [];
  if (isFlagged(item)) return places;
  const flags = flagsOf(item, places.length, depth - 1);
  return places.filter((_, nth) => flags[nth]);
}

/** Whether a list of flags says for each picture of a list beside it whether that one is refused. */
const isOfList = (record: Readonly<Record<string, unknown>>, flags: unknown) =>
  Array.isArray(flags) && flags.length > 1 && listOf(record, flags.length).length > 0;

/** The list of pictures that a list of flags beside it is about. */
function listOf(record: Readonly<Record<string, unknown>>, length: number): unknown[] {
  const lists = resultMembers.map((name) => record[name]);
  return (
    lists.filter((list): list is unknown[] => Array.isArray(list)).find((list) => list.length === length) ??
    []
  );
}

/**
 * For each item of a list the places of its pictures among all of the list, each picture once. Items without a picture, as
 * refused ones are, come behind them.
 */
function placesIn(list: readonly unknown[]): number[][] {
  const known = new Map<string, number>();
  let next = 0;
  const places = list.slice(0, maxOutputs).map((item) =>
    outputsOf(item).map((output) => {
      const place = ("url" in output ? known.get(output.url) : undefined) ?? next++;
      if ("url" in output) known.set(output.url, place);
      return place;
    }),
  );
  return places.map((own) => (own.length > 0 ? own : [next++]));
}

/** How the end of a picture that a filter has blurred or left out is named. */
const filteredEnd = /content_?filter|moderat|safety|blocked/i;

/** Whether a member marks a picture as refused; xAI says the opposite of the others. */
function isMark(name: string, member: unknown): boolean {
  if (/^respects?_?moderation$/i.test(name)) return member === false;
  if (/^finish_?reason$/i.test(name)) return typeof member === "string" && filteredEnd.test(member);
  return flagName.test(name) && (isSet(member) || (Array.isArray(member) && member.some(isSet)));
}

/** Whether anything in it is marked at all. */
function hasMark(value: unknown, depth: number): boolean {
  if (typeof value !== "object" || value === null || depth === 0) return false;
  return Object.entries(value).some(([name, member]) => isMark(name, member) || hasMark(member, depth - 1));
}

const isSet = (flag: unknown) =>
  flag === true || flag === 1 || (typeof flag === "string" && /^(true|yes)$/i.test(flag));

/** One picture's own flags, also in a part about its filter. */
function isFlagged(item: unknown, depth = 3): boolean {
  if (typeof item !== "object" || item === null || Array.isArray(item) || depth === 0) return false;
  const record = readRecord(item);
  return Object.entries(record).some(
    ([name, member]) =>
      (isMark(name, member) && !isOfList(record, member)) ||
      (/filter|safety|moderation/i.test(name) && isFlagged(member, depth - 1)) ||
      (depth < 3 && isFlagged(member, depth - 1)),
  );
}
