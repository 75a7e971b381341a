import { v7 } from "uuid";
import { z } from "zod";

/** A new id: UUID version 7, so that ids sort by the time they were made. */
export function newId(): string {
  return v7();
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

/** A text from outside without line breaks and other control characters. */
export const lineOfText = z
  .string()
  .refine((text) => isStorable(text) && !/\p{Cc}/u.test(text), "must hold no control characters");

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
