import { readFileSync } from "node:fs";
import path from "node:path";
import { type MessageFormatElement, parse, TYPE } from "@formatjs/icu-messageformat-parser";
import { locales, sourceLocale } from "../../server/locales.ts";

/** Texts by their whole key, `gallery.empty.title`. */
export type Texts = ReadonlyMap<string, string>;

export interface CatalogueFaults {
  /** Keys of the source that the catalogue lacks; readers see the English text. */
  readonly missing: readonly string[];
  /** Keys that the source no longer has. */
  readonly extra: readonly string[];
  /** Texts with other placeholders, tags or choices than the source, without a plural form, or that cannot be read. */
  readonly broken: readonly string[];
}

/** The languages that are translated from the source. */
export const translated = locales.filter((locale) => locale !== sourceLocale);

export function readTexts(rootDir: string, locale: string): Texts {
  const stored: unknown = JSON.parse(readFileSync(path.join(rootDir, "messages", `${locale}.json`), "utf8"));
  return new Map(flatten("", stored));
}

function flatten(key: string, value: unknown): [string, string][] {
  if (typeof value === "string") return [[key, value]];
  return Object.entries(Object(value)).flatMap(([name, inner]) =>
    flatten(key === "" ? name : `${key}.${name}`, inner),
  );
}

interface Shape {
  readonly parts: Set<string>;
  readonly plurals: (readonly string[])[];
}

/** What a translation must keep: names of placeholders and tags, and the options of a choice. */
function shapeOf(text: string): Shape {
  const shape: Shape = { parts: new Set(), plurals: [] };
  collect(parse(text), shape);
  return shape;
}

const isPlain: ReadonlySet<TYPE> = new Set([TYPE.argument, TYPE.number, TYPE.date, TYPE.time]);

function collect(elements: readonly MessageFormatElement[], shape: Shape): void {
  for (const element of elements) {
    if (element.type === TYPE.literal || element.type === TYPE.pound) continue;
    shape.parts.add(`${isPlain.has(element.type) ? "" : TYPE[element.type]} ${element.value}`);
    if (element.type === TYPE.tag) collect(element.children, shape);
    if (element.type !== TYPE.select && element.type !== TYPE.plural) continue;
    const names = Object.keys(element.options);
    if (element.type === TYPE.plural) shape.plurals.push(names);
    else shape.parts.add(`options ${names.toSorted().join(" ")}`);
    for (const option of Object.values(element.options)) collect(option.value, shape);
  }
}

const listed = ({ parts }: Shape) => [...parts].toSorted().join(", ");

/** Why a translation does not fit its source; null when it does. */
function faultOf(source: string, text: string, pluralForms: readonly string[]): string | null {
  try {
    const [wanted, found] = [shapeOf(source), shapeOf(text)];
    if (listed(wanted) !== listed(found)) return `has (${listed(found)}) instead of (${listed(wanted)})`;
    const lacking = found.plurals.flatMap((names) => pluralForms.filter((form) => !names.includes(form)));
    return lacking.length === 0 ? null : `lacks the plural forms ${[...new Set(lacking)].join(", ")}`;
  } catch (error) {
    return `cannot be read: ${error instanceof Error ? error.message : String(error)}`;
  }
}

/** Compares a catalogue with its source. */
export function findCatalogueFaults(source: Texts, catalogue: Texts, locale: string): CatalogueFaults {
  const { pluralCategories } = new Intl.PluralRules(locale).resolvedOptions();
  const broken = [...catalogue].flatMap(([key, text]) => {
    const fault = source.has(key) ? faultOf(source.get(key) ?? "", text, pluralCategories) : null;
    return fault === null ? [] : [`${key} ${fault}`];
  });
  return {
    missing: [...source.keys()].filter((key) => !catalogue.has(key)),
    extra: [...catalogue.keys()].filter((key) => !source.has(key)),
    broken,
  };
}
