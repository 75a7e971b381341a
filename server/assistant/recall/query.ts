/** A day or a month that a question names. */
export interface NamedDate {
  /** 1 to 12. */
  readonly month: number;
  readonly day: number | null;
  readonly year: number | null;
  /** Whether the question is about the time before or after it. */
  readonly side?: "before" | "after";
}

/** Languages whose names of months are known. */
const locales = ["en", "de", "fr", "es", "it", "pt", "nl", "ru", "bg"];

/** Names of months, long and short, in lower case. */
const monthOf: ReadonlyMap<string, number> = new Map(
  locales.flatMap((locale) =>
    (["long", "short"] as const).flatMap((style) =>
      // With a day, since Russian has another form then.
      ([{ month: style }, { month: style, day: "numeric" }] as const).flatMap((options) => {
        const format = new Intl.DateTimeFormat(locale, { ...options, timeZone: "UTC" });
        return Array.from({ length: 12 }, (_, at): [string, number] => {
          const parts = format.formatToParts(Date.UTC(2023, at, 1));
          const name = parts.find(({ type }) => type === "month")?.value ?? "";
          return [name.toLowerCase().replace(".", ""), at + 1];
        });
      }),
    ),
  ),
);

/** `мае`, `января`: months of Cyrillic scripts with another ending. Names such as Мария and Марк begin as March does. */
const shortestDeclined = 4;
const declinedMarch = /^март(?:[аеу]|ом)$/;
function monthNamed(word: string): number | undefined {
  const known = monthOf.get(word);
  if (known !== undefined || !/^\p{Script=Cyrillic}+$/u.test(word)) return known;
  if (word === "мае") return 5;
  if (word.startsWith("мар")) return declinedMarch.test(word) ? 3 : undefined;
  for (const [name, month] of monthOf)
    if (
      name.length >= shortestDeclined &&
      word.length <= name.length + 2 &&
      word.startsWith(name.slice(0, -1))
    )
      return month;
  return undefined;
}

const beforeWords = new Set(["before", "until", "vor", "bis", "antes", "hasta", "до", "преди"]);
const afterWords = new Set(["after", "since", "nach", "seit", "después", "desde", "после", "след"]);
/** Words between such a word and its date: `after the 3rd of May`, `antes del 3 de mayo`. */
const sideReach = 3;

function sideOf(words: readonly string[], at: number): Pick<NamedDate, "side"> {
  const near = words.slice(Math.max(0, at - sideReach), at);
  if (near.some((word) => beforeWords.has(word))) return { side: "before" };
  return near.some((word) => afterWords.has(word)) ? { side: "after" } : {};
}

/** `2024年5月3日`, `5月`, `5월 3일`, with what stands behind it. */
const easternDate =
  /(?:(\d{4})\s*[年년]\s*)?(\d{1,2})\s*[月월](?:\s*(\d{1,2})\s*[日号일])?\s*(之前|以前|前|之后|以后|之後|以後|後|이전|이후)?/g;

function readEasternDates(text: string): NamedDate[] {
  return [...text.matchAll(easternDate)].flatMap(([, year, month, day, side]): NamedDate[] => {
    const number = numberWithin(month, 1, 12);
    if (number === null) return [];
    const date = { month: number, day: numberWithin(day, 1, 31), year: numberWithin(year, 1990, 2100) };
    if (side === undefined) return [date];
    return [{ ...date, side: side.includes("前") || side === "이전" ? "before" : "after" }];
  });
}

const isoDate = /\b(\d{4})-(\d{2})-(\d{2})\b/g;
const word = /\p{L}+|\d+/gu;
const shortestMonth = 3;

function numberWithin(text: string | undefined, low: number, high: number): number | null {
  const value = text === undefined || !/^\d+$/.test(text) ? Number.NaN : Number(text);
  return value >= low && value <= high ? value : null;
}

/** Suffixes of a day: 3rd, 21st. */
const isSuffix = (text: string | undefined) => text !== undefined && /^(?:st|nd|rd|th)$/.test(text);

/** The days and months that a text names: `4 May 2023`, `May 4th`, `im Mai`, `2023-05-04`. "May" alone at its head may be a verb. */
export function readDates(text: string): NamedDate[] {
  const iso = [...text.matchAll(isoDate)].map(([, year, month, day]) => ({
    year: Number(year),
    month: Number(month),
    day: Number(day),
  }));
  const words = [...text.toLowerCase().matchAll(word)]
    .map(([part]) => part)
    .filter((part) => !isSuffix(part));
  const named = words.flatMap((part, at): NamedDate[] => {
    const month = part.length >= shortestMonth && at > 0 ? monthNamed(part) : undefined;
    if (month === undefined) return [];
    const before = words[at - 1] === "of" ? words[at - 2] : words[at - 1];
    const day = numberWithin(words[at + 1], 1, 31) ?? numberWithin(before, 1, 31);
    const year = numberWithin(words[at + 1], 1990, 2100) ?? numberWithin(words[at + 2], 1990, 2100);
    return [{ month, day, year, ...sideOf(words, at) }];
  });
  return [...iso, ...readEasternDates(text), ...named];
}

const nameWord = /[\p{L}\p{M}]+/gu;
const partsOf = (name: string) => name.match(nameWord) ?? [];
/** Scripts whose languages give names other endings: `Мария`, `Марии`. */
const lastVowel = /[аяоеийьαηοις]$/u;
const inflecting = /[\p{Script=Cyrillic}\p{Script=Greek}]/u;
/** Scripts without capitals: most of them write no space behind a name, or a preposition before it. */
const withoutCase = /\p{Lo}/u;
const longestEnding = 2;

/** Whether a word of a query, in lower case, is a form of a part of a name. */
function isFormOf(word: string, part: string): boolean {
  if (word === part || word === `${part}s`) return true;
  if (!inflecting.test(part) || part.length < 4) return false;
  return word.startsWith(part.replace(lastVowel, "")) && word.length <= part.length + longestEnding;
}

/**
 * Those of the speakers, names in lower case, whom a query names by their whole name or a part of it. `Monica Geller` in the
 * query is not Ross Geller, who has less of it.
 */
export function namedSpeakers(query: string, speakers: readonly string[]): string[] {
  const capitals = partsOf(query)
    .filter((word) => /^\p{Lu}/u.test(word))
    .map((word) => word.toLowerCase());
  const caseless = query.toLowerCase();
  const isNamed = (part: string) =>
    withoutCase.test(part) ? caseless.includes(part) : capitals.some((word) => isFormOf(word, part));
  const named = speakers.map((name) => {
    const parts = partsOf(name);
    return { name, parts: parts.filter((part) => (part.length > 1 || parts.length > 1) && isNamed(part)) };
  });
  return named
    .filter(({ parts }) => parts.length > 0)
    .filter(
      ({ parts }) =>
        !named.some(
          (other) => other.parts.length > parts.length && parts.every((part) => other.parts.includes(part)),
        ),
    )
    .map(({ name }) => name);
}

/** Whether a stem is that of a part of a name. */
export const isStemOfName = (stem: string, name: string) =>
  partsOf(name).some(
    (part) =>
      part === stem ||
      (stem.length > 2 && part.startsWith(stem) && part.length <= stem.length + longestEnding),
  );

const dayMs = 86_400_000;
/** People speak of a day some days later. */
const nearDays = 3;

/** How well a period fits the named dates: 1 for a named day, 0.5 for its month, else 0. */
export function fitOfDate(dates: readonly NamedDate[], from: Date, to: Date): number {
  const fits = dates.map(({ year, month, day, side }) => {
    const inYear = year ?? to.getUTCFullYear();
    const start = Date.UTC(inYear, month - 1, 1);
    const end = Date.UTC(inYear, month, 1);
    const at = Date.UTC(inYear, month - 1, day ?? 1);
    if (side === "before") return Number(to.getTime() < at);
    if (side === "after") return Number(from.getTime() >= (day === null ? end : at + dayMs));
    if (to.getTime() < start || from.getTime() >= end) return 0;
    if (day === null) return 1;
    const isNear = to.getTime() >= at - nearDays * dayMs && from.getTime() < at + (nearDays + 1) * dayMs;
    return isNear ? 1 : 0.5;
  });
  return Math.max(0, ...fits);
}

/** Whether a question is about the first or the last time of something; null when it does not say. */
export type Order = "oldest" | "newest";

/** In the languages of the studio and a few more: what asks for the last time, and for the first. */
const orders: readonly (readonly [Order, RegExp])[] = [
  [
    "newest",
    /\b(?:the )?(?:last time|latest|(?:most )?recently?|newest)\b|\bzuletzt\b|\bletzte[ns]? mal\b|\bneuest\p{L}+|última vez|últimamente|más reciente|последн(?:ий|ия) (?:раз|път)|недавно|наскоро|上次|最近|最新|最后一次|前回|この前|آخر مرة|مؤخرا/giu,
  ],
  [
    "oldest",
    /\b(?:the )?(?:first time|at first|originally|initially|earliest)\b|\berste[ns]? mal\b|\b(?:zuerst|ursprünglich|anfangs)\b|primera vez|al principio|originalmente|перв(?:ый|ия) (?:раз|път)|впервые|сначала|първоначално|отначало|第一次|最初|初めて|أول مرة/giu,
  ],
];

/** The order that a question asks for, and its words without those that say so, which no message needs to have. */
export function readOrder(query: string): { readonly order: Order | null; readonly rest: string } {
  const [order = null, words] = orders.find(([, pattern]) => query.search(pattern) >= 0) ?? [];
  return words ? { order, rest: query.replaceAll(words, " ") } : { order: null, rest: query };
}
