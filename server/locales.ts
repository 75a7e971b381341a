/**
 * The languages of the studio. Pages, mails and the messages of Telegram choose among these; texts are in
 * `messages/<locale>.json`. Browsers load this file, too.
 */
export const locales = ["en", "bg", "ru", "zh-CN", "es", "de"] as const;
export type Locale = (typeof locales)[number];

/** English is the source of all texts, and stands in where a catalogue lacks one. */
export const sourceLocale = "en" satisfies Locale;

/** Each language by its own name: a reader finds it while the page is in another one. */
export const localeNames: Readonly<Record<Locale, string>> = {
  en: "English",
  bg: "Български",
  ru: "Русский",
  "zh-CN": "简体中文",
  es: "Español",
  de: "Deutsch",
};

/** The language that this browser chose. The server reads it for every page, so the account is not asked. */
export const localeCookie = "atelier-locale";

export function asLocale(value: unknown): Locale | null {
  return locales.find((locale) => locale === value) ?? null;
}

/** Writing direction, for `<html dir>`. */
export function directionOf(locale: Locale): "ltr" | "rtl" {
  return rightToLeft.has(locale.split("-")[0] ?? locale) ? "rtl" : "ltr";
}

const rightToLeft: ReadonlySet<string> = new Set(["ar", "fa", "he", "ur"]);

/** More entries are no preference of a person. */
const maxTags = 20;

/** The best language for an Accept-Language header; null when the studio has none of those. */
export function matchLocale(acceptLanguage: string | null | undefined): Locale | null {
  const wanted = (acceptLanguage ?? "")
    .split(",", maxTags)
    .map((part) => {
      const [tag = "", ...params] = part.trim().split(";");
      const quality = params.map((param) => /^\s*q=([\d.]+)\s*$/.exec(param)?.[1]).find(Boolean);
      return { tag: tag.trim().toLowerCase(), quality: quality === undefined ? 1 : Number(quality) };
    })
    .filter(({ quality }) => quality > 0)
    .sort((a, b) => b.quality - a.quality);
  for (const { tag } of wanted) {
    const found = localeOfTag(tag);
    if (found !== null) return found;
  }
  return null;
}

/** `de-AT` is German; every Chinese is the one that is there. */
function localeOfTag(tag: string): Locale | null {
  const language = tag.split("-")[0];
  const exact = locales.find((locale) => locale.toLowerCase() === tag);
  return exact ?? locales.find((locale) => locale.toLowerCase().split("-")[0] === language) ?? null;
}

interface RequestHeaders {
  get(name: string): string | null;
}

/** The language that a browser's requests ask for: its own choice in this studio, else the one it is set to. */
export function readLocale(headers: RequestHeaders): Locale | null {
  return chosenLocale(headers) ?? matchLocale(headers.get("accept-language"));
}

/** The language that was chosen in this browser; null without a choice. */
export function chosenLocale(headers: RequestHeaders): Locale | null {
  const pair = new RegExp(`(?:^|;\\s*)${localeCookie}=([^;]*)`).exec(headers.get("cookie") ?? "");
  return asLocale(pair?.[1]);
}
