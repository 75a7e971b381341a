import { v7 } from "uuid";
import { z } from "zod";
import { AppError } from "./errors.ts";
import { issuesOf, lineOfIssues } from "./issues.ts";

/** A new id: UUID version 7, so that ids sort by the time they were made. */
export function newId(): string {
  return v7();
}

/** The first id of a moment, ms since 1970: ids made before it come before it. */
export function firstIdAt(ms: number): string {
  return v7({ msecs: ms, seq: 0, random: new Uint8Array(16) });
}

const uuidPattern = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

/** Whether a text from outside has the form of an id; a wrong form is answered like an unknown id. */
export function isId(value: string): boolean {
  return uuidPattern.test(value);
}

/** Whether PostgreSQL can store a text: no NUL and no half of a surrogate pair. */
export function isStorable(text: string): boolean {
  return text.isWellFormed() && !text.includes("\0");
}

/** The text as PostgreSQL can store it: NUL and halves of surrogate pairs become U+FFFD. */
export function storableText(text: string): string {
  return isStorable(text) ? text : text.replaceAll("\0", "\ufffd").toWellFormed();
}

/** Deeper than any request and any answer of a server that is meant. */
const maxDepth = 64;

interface Part {
  readonly value: unknown;
  readonly depth: number;
  /** The member of the request that it is in; null for the request itself. */
  readonly path: string | null;
}

/** Throws `bad_request` for a value from a client that holds a text which cannot be stored, or that is nested too deep. */
export function requireReadable(request: unknown): void {
  // A part that is referred to often is looked at once.
  const seen = new Set<object>();
  const left: Part[] = [{ value: request, depth: 1, path: null }];
  for (let next = left.pop(); next; next = left.pop()) {
    const { value, depth, path } = next;
    if (typeof value === "string" && !isStorable(value))
      throw unreadable(path, "A text holds NUL, or half of a character: send plain text.");
    if (typeof value !== "object" || value === null || seen.has(value)) continue;
    if (depth > maxDepth) throw unreadable(path, `The request is nested more than ${maxDepth} deep.`);
    seen.add(value);
    for (const [name, member] of membersOf(value))
      left.push({ value: member, depth: depth + 1, path: path ?? name });
  }
}

/** Numbers may be many, and nothing is asked of them. */
const isAsked = (member: unknown) => typeof member === "string" || typeof member === "object";

/** Names are texts as well. */
function membersOf(value: object): (readonly [string | null, unknown])[] {
  if (Array.isArray(value)) return value.filter(isAsked).map((member: unknown) => [null, member] as const);
  if (!isPlainObject(value)) return [];
  return Object.entries(value).flatMap(([name, member]) => [[null, name] as const, [name, member] as const]);
}

function unreadable(path: string | null, message: string): AppError {
  return new AppError(
    "bad_request",
    message,
    path === null ? {} : { details: { issues: [{ path, message }] } },
  );
}

/**
 * The JSON of a server; undefined when it is none, or is nested deeper than code that walks it could bear. Read as well: a
 * byte order mark before it, and NaN and Infinity, which Python writes and JSON does not have; they become null.
 */
export function parseForeignJson(text: string): unknown {
  const plain = text.startsWith("\ufeff") ? text.slice(1) : text;
  if (!isShallow(plain)) return undefined;
  const parsed = parseOrUndefined(plain);
  return parsed === undefined && foreignNumber.test(plain) ? parseOrUndefined(asJson(plain)) : parsed;
}

/** Undefined when it is no JSON; never otherwise. */
function parseOrUndefined(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}

const foreignNumber = /-?\b(?:NaN|Infinity)\b/;
const foreignNumbers = new RegExp(foreignNumber, "g");

/** The text with null for numbers that JSON does not have; strings stay as they are. */
function asJson(text: string): string {
  const parts: string[] = [];
  for (let from = 0; from < text.length;) {
    const quote = text.indexOf('"', from);
    const end = quote < 0 ? text.length : quote;
    parts.push(text.slice(from, end).replaceAll(foreignNumbers, "null"));
    from = quote < 0 ? end : endOfString(text, quote) + 1;
    parts.push(text.slice(end, from));
  }
  return parts.join("");
}

/** Whether the brackets of a JSON text, those in its strings left out, open at most `maxDepth` deep. */
const isShallow = (text: string) => isWithin(text, { depth: maxDepth, parts: Infinity, members: Infinity });

interface Bounds {
  readonly depth: number;
  /** Objects and lists. */
  readonly parts: number;
  /** Commas and parts: about as many as there are values. */
  readonly members: number;
}

function isWithin(text: string, most: Bounds): boolean {
  let [depth, parts, members] = [0, 0, 0];
  for (let at = 0; at < text.length; at += 1) {
    const char = text[at];
    if (char === '"') at = endOfString(text, at);
    else if (char === ",") members += 1;
    else if (char === "]" || char === "}") depth -= 1;
    else if (char === "[" || char === "{") {
      depth += 1;
      parts += 1;
    }
    if (depth > most.depth || parts > most.parts || parts + members > most.members) return false;
  }
  return true;
}

/** Above what the largest edit has, a megabyte of marks; pictures are texts, however long. */
const requestBounds: Bounds = { depth: Infinity, parts: 100_000, members: 500_000 };

/**
 * Whether the JSON text of a request has not very many values. Each byte of it may become forty in memory, in seconds in
 * which the process does nothing else, so they are counted before it is parsed.
 */
export const hasFewValues = (text: string): boolean => isWithin(text, requestBounds);

const utf8 = new TextDecoder("utf-8", { fatal: true });

/** The text of a body. Throws `bad_request` for another encoding, whose letters would be taken for others, and for a compressed body. */
export function textOfRequest(bytes: Uint8Array): string {
  try {
    return utf8.decode(bytes);
  } catch (cause) {
    throw new AppError("bad_request", "The body is no text in UTF-8: send it so, and not compressed.", {
      cause,
    });
  }
}

/** What is wrong with a text of a form: its parser writes U+FFFD for bytes of another encoding, such as those of a Windows console. */
export function problemOfField(name: string, text: string): AppError | null {
  const why = "is not in UTF-8, or holds U+FFFD, which stands for a lost letter.";
  return text.includes("\uFFFD") ? new AppError("bad_request", `The text of ${name} ${why}`) : null;
}

/** The JSON of a request. Throws `bad_request`. */
export function parseRequest(text: string): unknown {
  if (!hasFewValues(text)) throw new AppError("bad_request", "The request holds too many values.");
  try {
    return JSON.parse(text) as unknown;
  } catch (cause) {
    throw new AppError("bad_request", "The body is not valid JSON.", { cause });
  }
}

/** What a caller asks for. Throws `bad_request` that names the wrong fields. */
export function parseAsked<Value>(schema: z.ZodType<Value>, value: unknown): Value {
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  const issues = issuesOf(result.error);
  throw new AppError("bad_request", lineOfIssues(issues), { details: { issues } });
}

/** The place of the quote that ends the string which begins at `from`. Answers hold pictures as strings of many MB. */
function endOfString(text: string, from: number): number {
  for (let at = text.indexOf('"', from + 1); at >= 0; at = text.indexOf('"', at + 1)) {
    let slashes = 0;
    while (text[at - 1 - slashes] === "\\") slashes += 1;
    if (slashes % 2 === 0) return at;
  }
  return text.length;
}

/** A text from outside without line breaks and other control characters. */
export const lineOfText = z
  .string()
  .regex(/^\P{Cc}*$/u, "must hold no control characters")
  .refine(isStorable, "must hold no halves of characters");

const flagWords = {
  true: ["true", "1", "yes", "on", "y", "enabled"],
  false: ["false", "0", "no", "off", "n", "disabled"],
} as const;

/** Yes or no in an address, in the words that the document of the API lists. */
export const flagOfText = z
  .enum([...flagWords.true, ...flagWords.false])
  .transform((word) => flagWords.true.some((yes) => yes === word));

const [firstMs, lastMs] = [Date.parse("0001-01-01T00:00:00Z"), Date.parse("9999-12-31T23:59:59.999Z")];

/** A moment as ISO 8601, of the years in which PostgreSQL reads it as JavaScript writes it. */
export const momentOfText = z.iso
  .datetime({ offset: true })
  .refine(
    (text) => Date.parse(text) >= firstMs && Date.parse(text) <= lastMs,
    "must be a time of the years 1 to 9999",
  );

const maxJsonDepth = 20;

/** Counts as it walks: a value that refers to the same part often may be far larger than the request that it came in. */
function isJsonWithin(maxCharacters: number, root: unknown): boolean {
  let left = maxCharacters;
  const isText = (text: string) => (left -= text.length) >= 0 && isStorable(text);
  const isJson = (value: unknown, depth: number): boolean => {
    left -= 1;
    if (left < 0 || depth > maxJsonDepth) return false;
    if (typeof value === "string") return isText(value);
    if (typeof value === "number") return Number.isFinite(value);
    if (value === null || typeof value === "boolean") return true;
    if (Array.isArray(value)) return value.every((item) => isJson(item, depth + 1));
    return (
      isPlainObject(value) &&
      Object.entries(value).every(([name, member]) => isText(name) && isJson(member, depth + 1))
    );
  };
  return isJson(root, 1);
}

function isPlainObject(value: unknown): value is object {
  if (typeof value !== "object" || value === null) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}

/** A JSON object from outside that the database can store, of at most `maxBytes` bytes as text. */
export function jsonObject(maxBytes: number) {
  return z
    .record(z.string(), z.unknown())
    .refine(
      (value) => isJsonWithin(maxBytes, value) && Buffer.byteLength(JSON.stringify(value)) <= maxBytes,
      `must be JSON of at most ${maxBytes} bytes and ${maxJsonDepth} levels, without NUL characters`,
    );
}

const quotedPart =
  /"[^"]*(?:"|$)|[“„][^“”]*(?:[“”]|$)|«[^»]*(?:»|$)|`[^`]*(?:`|$)|(?<![\p{L}\p{N}])'(?:[^']|(?<=\p{L})'(?=\p{L}))*(?:'(?!\p{L})|$)/gu;
/** A name or a code, not a text of a person. */
const quotedName = /^["'`“„«][\w.:/-]*["'`”“»]?$/;
/** Of an answer inside of a sentence: its quotes are those of JSON or Python. */
const memberBefore =
  /(?:\b(?:message|msg|detail|error|reasons?|description|status|state|code)["'\\]*\s*[:=]|\breturned \d{3}:)\s*\\*$/i;
const quotedIn = 2_000;

/** The first 2,000 characters of a server's sentence without what it quotes, such as a user's prompt; names and codes stay. */
export function withoutQuoted(sentence: string): string {
  const text = sentence.slice(0, quotedIn);
  return text.replaceAll(quotedPart, (part, at: number) =>
    quotedName.test(part) || memberBefore.test(text.slice(Math.max(0, at - 20), at)) ? part : " ",
  );
}

const maxTextCharacters = 200;
const maxInteger = 2 ** 31 - 1;

/** A text from a server, cleaned for the database and the page: one line, 200 characters at most. */
export const foreignText = z.string().transform((text) =>
  text
    .replaceAll(/\p{Cc}+/gu, " ")
    .slice(0, maxTextCharacters)
    .toWellFormed(),
);

/** A count from a server: whole, not negative, within an `integer` of the database. */
export const foreignCount = z.number().transform((value) => wholeUpTo(maxInteger, value));

/** A size in bytes from a server: whole, not negative, and exact as a number. */
export const foreignBytes = z.number().transform((value) => wholeUpTo(Number.MAX_SAFE_INTEGER, value));

function wholeUpTo(most: number, value: number): number {
  return Math.min(most, Math.max(0, Math.round(value)));
}
