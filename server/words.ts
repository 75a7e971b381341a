import { AsyncLocalStorage } from "node:async_hooks";
import { createFormatter, createTranslator } from "use-intl/core";
import en from "../messages/en.json" with { type: "json" };
import { type Locale, readLocale, sourceLocale } from "./locales.ts";

/** The texts of the studio, by namespace; English is the source of the keys. */
export type Messages = typeof en;

type Part = { readonly [key: string]: Part | string };

/** Literal paths, which the bundler finds. */
const catalogues: Readonly<Record<Locale, () => Promise<{ readonly default: Part }>>> = {
  en: () => import("../messages/en.json", { with: { type: "json" } }),
  bg: () => import("../messages/bg.json", { with: { type: "json" } }),
  ru: () => import("../messages/ru.json", { with: { type: "json" } }),
  "zh-CN": () => import("../messages/zh-CN.json", { with: { type: "json" } }),
  es: () => import("../messages/es.json", { with: { type: "json" } }),
  de: () => import("../messages/de.json", { with: { type: "json" } }),
};

const loaded = new Map<Locale, Promise<Messages>>();

/** All texts in a language; what its catalogue lacks is English, and never a key. */
export function loadMessages(locale: Locale): Promise<Messages> {
  const known = loaded.get(locale) ?? load(locale);
  loaded.set(locale, known);
  return known;
}

async function load(locale: Locale): Promise<Messages> {
  const source = (await catalogues[sourceLocale]()).default;
  const own = locale === sourceLocale ? source : (await catalogues[locale]()).default;
  // Safe cast: every key of the source is in it.
  return fill(source, own) as Messages;
}

/** The texts of `source`, each replaced by the one of `own` where there is one. */
function fill(source: Part, own: Part): Part {
  return Object.fromEntries(
    Object.entries(source).map(([key, text]) => {
      const other = Object.hasOwn(own, key) ? own[key] : undefined;
      if (typeof text === "string") return [key, typeof other === "string" && other !== "" ? other : text];
      return [key, typeof other === "object" ? fill(text, other) : text];
    }),
  );
}

function wordsOf(locale: Locale, messages: Messages) {
  return {
    locale,
    t: createTranslator<Messages>({ locale, messages, timeZone: "UTC" }),
    format: createFormatter({ locale, timeZone: "UTC" }),
  };
}

export type Words = ReturnType<typeof wordsOf>;

const made = new Map<Locale, Promise<Words>>();

/** Texts of the server itself, as of a mail, in the language of the person who gets them. */
export function wordsIn(locale: Locale): Promise<Words> {
  const known = made.get(locale) ?? loadMessages(locale).then((messages) => wordsOf(locale, messages));
  made.set(locale, known);
  return known;
}

/**
 * What a failure says to a person: the thrower's sentence, which is more precise, where there is one in their language, else
 * the text of the code.
 */
export function sentenceOf(
  words: Words,
  { code, message }: { readonly code: string; readonly message: string },
): string {
  const { locale, t } = words;
  const key = code as "internal";
  const told = retell(message, words);
  if (told !== null) return told;
  if (locale === sourceLocale || !t.has(`errors.${key}.title`)) return message;
  return t("bot.failure", { title: t(`errors.${key}.title`), advice: t(`errors.${key}.advice`) });
}

const spoken = new AsyncLocalStorage<Words>();
const english = wordsOf(sourceLocale, en);

/** The words of the person who reads what is being computed; English for programs, and where nobody reads it yet. */
export function currentWords(): Words {
  return spoken.getStore() ?? english;
}

/** Runs something whose sentences a person reads in these words. */
export function speakIn<Answer>(words: Words, run: () => Answer): Answer {
  return spoken.run(words, run);
}

/** Answers the request of a page in its language. */
export async function speakTo<Answer>(headers: Headers, answer: () => Promise<Answer>): Promise<Answer> {
  return speakIn(await wordsIn(readLocale(headers) ?? sourceLocale), answer);
}

interface Sentence {
  readonly key: string;
  readonly pattern: RegExp;
}

const placeholder = /\{(\w+)\}/;

/** The sentences of a part of the catalogue: what stands in them by its names. */
function readSentences(part: "faults" | "findings"): readonly Sentence[] {
  return Object.entries(en[part]).map(([key, text]) => {
    const pieces = text.split(placeholder).map((piece, at) => {
      if (at % 2 === 0) return RegExp.escape(piece);
      // A sentence with something added is cut at the last of its marks.
      return piece === ofSentence ? `(?<${piece}>.+)` : `(?<${piece}>.+?)`;
    });
    return { key: `${part}.${key}`, pattern: new RegExp(`^${pieces.join("")}$`, "s") };
  });
}

/** The name of a value that must be a sentence itself: what is around it would fit to too much. */
const ofSentence = "text";
/** So many sentences are looked for within each other. */
const deepest = 5;

const faults = readSentences("faults");
const ofDoctor = [...readSentences("findings"), ...faults];

function tell(text: string, t: Words["t"], sentences: readonly Sentence[], depth = 0): string | null {
  if (depth > deepest) return null;
  for (const { key, pattern } of sentences) {
    const found = pattern.exec(text);
    if (!found) continue;
    const values = Object.entries(found.groups ?? {}).map(([name, value]) => {
      const inner = (one: string) => tell(one, t, sentences, depth + 1);
      const told = inner(value) ?? (name === ofSentence ? null : tellList(value, inner));
      return [name, told] as const;
    });
    // Safe casts: the key and the names of its values are read from the catalogue itself.
    if (values.every(([, told]) => told !== null))
      return t(key as "faults.serverAway", Object.fromEntries(values) as never);
  }
  return null;
}

const tellList = (value: string, inner: (one: string) => string | null) =>
  value
    .split(", ")
    .map((one) => inner(one) ?? one)
    .join(", ");

/**
 * What the server wrote in English (into a row, an error, a report) in the words of its reader; null for a sentence that
 * `faults` of the catalogue lacks. Rows, logs and programs keep the English, which is the key: no second text is stored.
 */
export function retell(text: string, { t } = currentWords()): string | null {
  return tell(text, t, faults);
}

/** The name or message of a finding of the doctor; its sentences and what they are made of are in `findings`. */
export function retellFinding(text: string, { t } = currentWords()): string | null {
  return tell(text, t, ofDoctor);
}

/** Fields in which people read why something does not work. */
const telling = new Set(["lastError", "problem", "reason", "what"]);

/** An answer for pages, with the sentences of the server in the words of its reader; plain objects and lists are walked, nothing else. */
export function retellAll<Answer>(answer: Answer, words = currentWords()): Answer {
  // Safe cast: texts are replaced by texts.
  return words.locale === sourceLocale ? answer : (retold(answer, words) as Answer);
}

function retold(value: unknown, words: Words): unknown {
  if (Array.isArray(value)) return value.map((one) => retold(one, words));
  if (typeof value !== "object" || value === null || Object.getPrototypeOf(value) !== Object.prototype)
    return value;
  const isFailure = "code" in value && typeof value.code === "string";
  return Object.fromEntries(
    Object.entries(value).map(([key, one]: [string, unknown]) => {
      if (typeof one !== "string") return [key, retold(one, words)];
      const isTold = telling.has(key) || (isFailure && key === "message");
      return [key, isTold ? (retell(one, words) ?? one) : one];
    }),
  );
}
