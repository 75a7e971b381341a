import { createFormatter, createTranslator } from "use-intl/core";
import type en from "../messages/en.json";
import { type Locale, sourceLocale } from "./locales.ts";

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

async function makeWords(locale: Locale) {
  const messages = await loadMessages(locale);
  return {
    locale,
    t: createTranslator<Messages>({ locale, messages, timeZone: "UTC" }),
    format: createFormatter({ locale, timeZone: "UTC" }),
  };
}

const made = new Map<Locale, ReturnType<typeof makeWords>>();

/** Texts of the server itself, as of a mail, in the language of the person who gets them. */
export function wordsIn(locale: Locale): ReturnType<typeof makeWords> {
  const known = made.get(locale) ?? makeWords(locale);
  made.set(locale, known);
  return known;
}

/** What a failure says to a person: the thrower's sentence in English, which is more precise, else the text of the code. */
export function sentenceOf(
  { locale, t }: Words,
  { code, message }: { readonly code: string; readonly message: string },
): string {
  const key = code as "internal";
  if (locale === sourceLocale || !t.has(`errors.${key}.title`)) return message;
  return t("bot.failure", { title: t(`errors.${key}.title`), advice: t(`errors.${key}.advice`) });
}

export type Words = Awaited<ReturnType<typeof wordsIn>>;
