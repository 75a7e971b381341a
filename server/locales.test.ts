import { expect, test } from "vitest";
import { chosenLocale, directionOf, localeNames, locales, matchLocale, readLocale } from "./locales.ts";

test.each([
  ["de", "de"],
  ["de-AT,de;q=0.9,en;q=0.8", "de"],
  ["en;q=0.5, ru;q=0.9", "ru"],
  ["zh", "zh-CN"],
  ["zh-Hant-TW, en;q=0.1", "zh-CN"],
  ["es-419", "es"],
  ["BG-bg", "bg"],
  ["fr, pl;q=0.9, es;q=0.2", "es"],
  ["de;q=0, es", "es"],
  ["fr", null],
  ["*", null],
  [";;;,q=", null],
  ["", null],
  [null, null],
])("Accept-Language %j is answered in %j", (header, locale) => {
  expect(matchLocale(header)).toBe(locale);
});

test("a browser's own choice goes before the language it is set to, and a foreign value counts for nothing", () => {
  const headers = (cookie: string) => new Headers({ cookie, "accept-language": "ru" });
  expect(readLocale(headers("a=b; atelier-locale=zh-CN; c=d"))).toBe("zh-CN");
  expect(readLocale(headers("atelier-locale=xx"))).toBe("ru");
  expect(readLocale(headers("not-atelier-locale=de"))).toBe("ru");
  expect(chosenLocale(headers("atelier-locale=../de"))).toBeNull();
});

test("every language has a name of its own and a direction", () => {
  expect(new Set(Object.values(localeNames)).size).toBe(locales.length);
  expect(locales.map(directionOf)).toEqual(locales.map(() => "ltr"));
});
