import { parse, TYPE, type MessageFormatElement } from "@formatjs/icu-messageformat-parser";
import { createTranslator } from "use-intl/core";
import formatCompiled from "use-intl/format-message/format-only";
import { expect, test } from "vitest";
import { locales } from "@atelier/server/locales";
import { loadMessages } from "@atelier/server/words";
import formatMessage, { compileCatalogue } from "./format-message.ts";

type Value = string | number | ((chunks: unknown) => string);

type Values = Record<string, Value>;

const merged = (lists: readonly (readonly MessageFormatElement[])[], count: number): Values =>
  Object.assign({}, ...lists.map((elements) => valuesFor(elements, count)));

function valuesOf(element: MessageFormatElement, count: number): Values {
  if (element.type === TYPE.argument) return { [element.value]: `<${element.value}> {n}` };
  if (element.type === TYPE.number) return { [element.value]: count + 0.5 };
  if (element.type === TYPE.tag)
    return { ...merged([element.children], count), [element.value]: (chunks) => `[${String(chunks)}]` };
  if (element.type !== TYPE.plural && element.type !== TYPE.select) return {};
  const names = Object.keys(element.options);
  const chosen = names[count % names.length] ?? "other";
  const branches = Object.values(element.options).map(({ value }) => value);
  return { ...merged(branches, count), [element.value]: element.type === TYPE.plural ? count : chosen };
}

/** A value for each name of a message, of the kind that it asks for; a count stays one, wherever else its name stands. */
function valuesFor(elements: readonly MessageFormatElement[], count: number): Values {
  return Object.assign({}, ...elements.map((element) => valuesOf(element, count)).toSorted(numbersLast));
}

const numbers = (values: Values) => Object.values(values).filter((value) => typeof value === "number").length;
const numbersLast = (a: Values, b: Values) => numbers(a) - numbers(b);

function textsOf(part: object, path = ""): [string, string][] {
  return Object.entries(part).flatMap(([key, value]): [string, string][] =>
    typeof value === "string" ? [[`${path}${key}`, value]] : textsOf(value, `${path}${key}.`),
  );
}

const at = (part: object, path: string) =>
  path.split(".").reduce<unknown>((inner, key) => Reflect.get(Object(inner), key), part);

const once = <Made>(make: (locale: string, options?: object) => Made) => {
  const made = new Map<string, Made>();
  return (locale: string, options?: object) => {
    const key = JSON.stringify([locale, options]);
    const known = made.get(key) ?? make(locale, options);
    made.set(key, known);
    return known;
  };
};

const formatters = {
  getNumberFormat: once((...args) => new Intl.NumberFormat(...args)),
  getPluralRules: once((...args) => new Intl.PluralRules(...args)),
};

test.for(locales)("texts of %s read the same compiled as they do as ICU messages", async (locale) => {
  const messages = await loadMessages(locale);
  const compiled = compileCatalogue(messages);
  // Safe casts: what the formatter gets from next-intl, whose types are of a single catalogue.
  const options = { locale, formatters, timeZone: "UTC" } as unknown as Parameters<typeof formatCompiled>[3];
  const t = createTranslator({ locale, messages, timeZone: "UTC" });
  const markup: unknown = Reflect.get(t, "markup");
  const read = markup as (path: string, values: Values) => string;
  const shown = textsOf(messages)
    .filter(([, text]) => /['{}<#]/.test(text))
    .flatMap(([path, text]) =>
      (text.includes("plural,") ? [0, 1, 3, 5] : [1_234]).map((count) => {
        const values = valuesFor(parse(text), count);
        const message = at(compiled, path) as Parameters<typeof formatCompiled>[1];
        const inBrowser = formatCompiled(path, message, values as never, options);
        const onServer = [message, text].map((form) =>
          formatMessage(path, form as never, values as never, options),
        );
        return { path, count, expected: read(path, values), forms: [inBrowser, ...onServer] };
      }),
    );
  expect(shown.length).toBeGreaterThan(300);
  expect(shown.filter(({ expected, forms }) => forms.some((form) => form !== expected))).toEqual([]);
});

test("a text with quoted braces is not read as ICU a second time", () => {
  const { note } = compileCatalogue({ note: "write '{name}' or it''s" });
  expect(formatMessage("note", note, undefined, {} as never)).toBe("write {name} or it's");
});

test("React can send compiled texts: they are lists, texts and plain objects", () => {
  const { left } = compileCatalogue({ left: "{count, plural, one {# <b>picture</b>} other {{name} has #}}" });
  const prototypes = (part: unknown): unknown[] =>
    typeof part === "object" && part !== null
      ? [Object.getPrototypeOf(part), ...Object.values(part).flatMap(prototypes)]
      : [];
  expect(new Set(prototypes(left))).toEqual(new Set([Array.prototype, Object.prototype]));
});
