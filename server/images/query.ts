import { startOfDay } from "../platform/days.ts";
import { type JobKind, jobKinds } from "../platform/names.ts";
import { normalized } from "../platform/normalized.ts";

/** What the operator `is:` can say of a picture. */
const pictureFlags = ["starred", "result", "upload", "shared", "trashed"] as const;
export type PictureFlag = (typeof pictureFlags)[number];

/**
 * Orders of a list: by when pictures were made or taken, the newest first or the oldest; by when they came; by rating, then the newest; by
 * the size of their files.
 */
export const listOrders = ["made", "oldest", "added", "rated", "largest"] as const;
export type ListOrder = (typeof listOrders)[number];

/** The operators of a search, in the order in which they are offered. */
export const searchOperators = [
  "kind",
  "model",
  "board",
  "tag",
  "is",
  "rating",
  "from",
  "to",
  "size",
  "seed",
  "order",
  "near",
  "similar",
] as const;
export type SearchOperator = (typeof searchOperators)[number];

/** Both ends belong to it; null: open. */
interface Range {
  readonly least: number | null;
  readonly most: number | null;
}

export type Filter =
  | { readonly name: "kind"; readonly kinds: readonly JobKind[] }
  /** Of a board or a tag null means: without any. */
  | { readonly name: "board" | "tag"; readonly text: string | null }
  | { readonly name: "model"; readonly text: string }
  | { readonly name: "seed"; readonly text: string }
  | { readonly name: "is"; readonly flag: PictureFlag }
  /** Nothing that a picture could lack; of several the last one counts. */
  | { readonly name: "order"; readonly order: ListOrder }
  /** By meaning: what is near a text, or near another picture. */
  | { readonly name: "near"; readonly text: string }
  | { readonly name: "similar"; readonly imageId: string }
  /** 0 is a picture without a rating. */
  | { readonly name: "rating"; readonly range: Range }
  /** The longer side, in pixels. */
  | { readonly name: "size"; readonly range: Range }
  | { readonly name: "exactSize"; readonly widthPx: number; readonly heightPx: number }
  /** `from` is the first moment that belongs to it, `to` the first that does not any more. */
  | { readonly name: "from" | "to"; readonly at: Date };

/** Looked for anywhere; a phrase as it stands, else each word for itself. */
interface Words {
  readonly words: string;
  readonly isPhrase: boolean;
}

/** A part of a search. */
export interface SearchTerm {
  /** As it was typed, with its operator, quotes and minus. */
  readonly source: string;
  readonly isNot: boolean;
  /** `wrong`: an operator with a value that it does not take. */
  readonly meaning: Words | Filter | { readonly wrong: SearchOperator };
}

const isUuid = /^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/i;
// Signs as keyboards and input methods of several languages write them: dashes, quotes, the wide colon.
const minus = "[-\u2010-\u2015\u2212\uFE63\uFF0D]";
// A phrase ends with a quote of the kind that it began with, so that others may stand in it; where there is none, with any.
const quotes = ['"＂', "“”„‟", "«»"] as const;
const anyKind = quotes.join("");
const phrases = quotes
  .flatMap((kind, at) => [
    `[${kind}](?<quoted${at}>[^${kind}]*)[${kind}]`,
    `[${kind}](?<begun${at}>[^${anyKind}]*)[${anyKind}]?`,
  ])
  .join("|");
const termPattern = new RegExp(
  `(?<not>${minus}?)(?:(?<operator>[a-z]+)[:：])?(?:${phrases}|(?<plain>\\S+))`,
  "giu",
);
const anyQuote = new RegExp(`[${anyKind}]`, "gu");
const loneMinus = new RegExp(`^${minus}$`, "u");
const maxTerms = 30;

/**
 * Reads a search: words, `"phrases"`, `-without` and `operator:value`. What has an operator that there is not is a word, since
 * times and addresses have colons too. Days are of the time zone, by its IANA name.
 */
export function parseSearch(search: string, timeZone = "UTC"): SearchTerm[] {
  const terms = [...search.matchAll(termPattern)].slice(0, maxTerms).map(({ 0: source, groups = {} }) => {
    const operator = searchOperators.find((name) => name === groups["operator"]?.toLowerCase());
    const isNot = groups["not"] !== "";
    const quoted = quotes
      .flatMap((_, at) => [groups[`quoted${at}`], groups[`begun${at}`]])
      .find((text) => text !== undefined);
    const value = quoted ?? groups["plain"] ?? "";
    if (operator)
      return { source, isNot, meaning: readers[operator](value.trim(), timeZone) ?? { wrong: operator } };
    const words = groups["operator"] === undefined ? value : `${groups["operator"]}:${value}`;
    return { source, isNot, meaning: { words, isPhrase: quoted !== undefined } };
  });
  return terms.filter(({ source }) => !loneMinus.test(source) && !isUnfinished(source));
}

/** An operator whose value is still to be typed says nothing yet: the list stays as it is. */
const isUnfinished = (source: string) =>
  searchOperators.some((name) => plainSigns(source).replace(/^-/, "").toLowerCase() === `${name}:`);

/** The signs of a term, and its digits, as they stand on most keyboards. */
const plainSigns = (text: string) =>
  normalized(text, "NFKC")
    .replace(new RegExp(`^${minus}`, "u"), "-")
    .replaceAll(/[≥≤]/gu, (sign) => (sign === "≥" ? ">=" : "<="));

/** The order that a search asks for; null without one. */
export function orderOf(terms: readonly SearchTerm[]): ListOrder | null {
  const order = terms.findLast(
    ({ meaning, isNot }) => !isNot && "name" in meaning && meaning.name === "order",
  );
  return order && "order" in order.meaning ? order.meaning.order : null;
}

/** Writes a term; a value with blanks gets quotes. */
export function termOf(operator: SearchOperator, value: string, isNot = false): string {
  const plain = value.replaceAll(anyQuote, "");
  return `${isNot ? "-" : ""}${operator}:${/\s/u.test(plain) ? `"${plain}"` : plain}`;
}

type Reader = (value: string, timeZone: string) => Filter | null;

const readers: Readonly<Record<SearchOperator, Reader>> = {
  kind: readKinds,
  model: (text) => (text === "" ? null : { name: "model", text }),
  board: (text) => (text === "" ? null : { name: "board", text: text === "none" ? null : text }),
  tag: (text) => (text === "" ? null : { name: "tag", text: text === "none" ? null : text }),
  is: (value) => {
    const flag = pictureFlags.find((name) => name === plainSigns(value).toLowerCase());
    return flag ? { name: "is", flag } : null;
  },
  rating: (value) => {
    const range = readRange(plainSigns(value), mostRating);
    return range ? { name: "rating", range } : null;
  },
  from: (value, timeZone) => readDay(value, "from", timeZone),
  to: (value, timeZone) => readDay(value, "to", timeZone),
  size: readSize,
  order: (value) => {
    const order = listOrders.find((name) => name === plainSigns(value).toLowerCase());
    return order ? { name: "order", order } : null;
  },
  near: (text) => (text === "" ? null : { name: "near", text }),
  similar: (text) => (isUuid.test(text) ? { name: "similar", imageId: text.toLowerCase() } : null),
  seed: (value) => {
    const [, text] = /^0*(\d{1,20})$/.exec(plainSigns(value)) ?? [];
    return text === undefined ? null : { name: "seed", text };
  },
};

/** `upscale`, `text-to-image`, or several with commas. */
function readKinds(value: string): Filter | null {
  const names = plainSigns(value).toLowerCase().replaceAll(/[\s-]/g, "_").split(",");
  const kinds = jobKinds.filter((kind) => names.includes(kind));
  return kinds.length === new Set(names).size ? { name: "kind", kinds } : null;
}

/** Above the highest one, and within what the column holds. */
const mostRating = 99;

/** `3`, `>=3`, `<3`, `3..5`; figures above `most` count as that. */
function readRange(value: string, most = 9_999_999): Range | null {
  const [, comparison = "=", first, last] = /^(>=?|<=?|=)?(\d{1,7})(?:\.{2,3}(\d{1,7}))?$/.exec(value) ?? [];
  if (first === undefined) return null;
  const number = Math.min(most, Number(first));
  if (last !== undefined)
    return comparison === "=" && Number(last) >= Number(first)
      ? { least: number, most: Math.min(most, Number(last)) }
      : null;
  switch (comparison) {
    case ">":
      return { least: number + 1, most: null };
    case ">=":
      return { least: number, most: null };
    case "<":
      return { least: null, most: number - 1 };
    case "<=":
      return { least: null, most: number };
    default:
      return { least: number, most: number };
  }
}

/** The longer side as a range, or `1024x768`. */
function readSize(value: string): Filter | null {
  const text = plainSigns(value);
  const [, width, height] = /^(\d{1,6})[x×х](\d{1,6})$/iu.exec(text) ?? [];
  if (width !== undefined) return { name: "exactSize", widthPx: Number(width), heightPx: Number(height) };
  const range = readRange(text);
  return range ? { name: "size", range } : null;
}

const msPerUnit = { d: 86_400_000, w: 7 * 86_400_000 };

/** `2026`, `2026-03`, `2026-03-07`, or how long ago: `10d`, `4w`, `6m`, `1y`. */
function readDay(value: string, name: "from" | "to", timeZone: string): Filter | null {
  const text = plainSigns(value);
  const [, count, unit] = /^(\d{1,4})([dwmy])$/i.exec(text) ?? [];
  if (count !== undefined) return { name, at: storable(ago(Number(count), String(unit).toLowerCase())) };
  const [, year, month, day] = /^(\d{4})(?:-(\d{1,2})(?:-(\d{1,2}))?)?$/.exec(text) ?? [];
  if (year === undefined) return null;
  const start = [Number(year), Number(month ?? 1) - 1, Number(day ?? 1)] as const;
  const first = new Date(0);
  first.setUTCFullYear(...start);
  if (first.getUTCMonth() !== start[1]) return null;
  if (name === "to") moveOn(first, { month, day });
  const at = first > latest ? latest : startOfDay(timeZone, first.toISOString().slice(0, 10));
  return { name, at: storable(at ?? first) };
}

const [earliest, latest] = [new Date("0001-01-01T00:00:00Z"), new Date("9999-12-31T23:59:59Z")];

/** No picture is older or newer, and PostgreSQL reads other years in another form. */
function storable(at: Date): Date {
  if (at < earliest) return earliest;
  return at > latest ? latest : at;
}

/** To the first day behind a day, a month or a year. */
function moveOn(first: Date, { month, day }: Readonly<Record<"day" | "month", string | undefined>>): void {
  if (day !== undefined) first.setUTCDate(first.getUTCDate() + 1);
  else if (month !== undefined) first.setUTCMonth(first.getUTCMonth() + 1);
  else first.setUTCFullYear(first.getUTCFullYear() + 1);
}

function ago(count: number, unit: string): Date {
  const now = new Date();
  if (unit === "d" || unit === "w") return new Date(now.getTime() - count * msPerUnit[unit]);
  const day = now.getUTCDate();
  now.setUTCMonth(now.getUTCMonth() - (unit === "y" ? 12 * count : count));
  // A month without that day ends with its own last one, and is not the next month.
  if (now.getUTCDate() !== day) now.setUTCDate(0);
  return now;
}
