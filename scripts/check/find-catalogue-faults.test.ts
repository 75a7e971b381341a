import path from "node:path";
import { expect, test } from "vitest";
import { findCatalogueFaults, readTexts, type Texts, translated } from "./find-catalogue-faults.ts";

const rootDir = path.resolve(import.meta.dirname, "../..");
const source = readTexts(rootDir, "en");

test("every English text can be read", () => {
  // Where one and many read the same, English writes one form.
  const { broken } = findCatalogueFaults(source, source, "en");
  expect(broken.filter((fault) => !fault.endsWith("lacks the plural forms one"))).toEqual([]);
});

test.each(translated)(
  "the catalogue %s is complete, keeps placeholders, tags and choices, and has all plural forms",
  (locale) => {
    const faults = findCatalogueFaults(source, readTexts(rootDir, locale), locale);
    expect(faults).toEqual({ missing: [], extra: [], broken: [] });
  },
);

test.each(["en", ...translated])("in %s the name of a button holds what stands on it", (locale) => {
  const own = readTexts(rootDir, locale);
  const broken = [...own].filter(([key, name]) => {
    const shown = key.endsWith("Named") ? own.get(key.replace(/Named$/, "")) : undefined;
    return shown !== undefined && !name.toLowerCase().includes(shown.toLowerCase());
  });
  expect(broken).toEqual([]);
});

const texts = (all: Readonly<Record<string, string>>): Texts => new Map(Object.entries(all));

test("what a catalogue lacks, what it has too much, and what it breaks is told with the key", () => {
  const english = texts({
    kept: "<b>{count, plural, one {# file} other {# files}}</b> of {name}",
    count: "{count, plural, one {# file} other {# files}}",
    gone: "Gone",
    choice: "{way, select, up {Up} other {Down}}",
    price: "About {price}",
  });
  const russian = texts({
    kept: "<b>{count, plural, one {# файл} few {# файла} many {# файлов} other {# файла}}</b>: {name}",
    count: "{count, plural, one {# файл} other {# файла}}",
    choice: "{way, select, вверх {Вверх} other {Вниз}}",
    price: "Около {preis}",
    old: "Старое",
  });
  expect(findCatalogueFaults(english, russian, "ru")).toEqual({
    missing: ["gone"],
    extra: ["old"],
    broken: [
      "count lacks the plural forms few, many",
      "choice has (options other вверх, select way) instead of (options other up, select way)",
      "price has ( preis) instead of ( price)",
    ],
  });
  expect(findCatalogueFaults(texts({ a: "{a}" }), texts({ a: "{a" }), "de").broken[0]).toMatch(
    /^a cannot be read/,
  );
});
