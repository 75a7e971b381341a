import superjson from "superjson";
import { expect, test } from "vitest";
import { wire } from "./api.ts";

const sent = (value: unknown) => JSON.parse(JSON.stringify(value));
const day = new Date("2026-11-28T12:00:00.000Z");

const beyondJson = { ratio: Number.NaN, most: Infinity };

const values: Readonly<Record<string, unknown>> = {
  nothing: undefined,
  null: null,
  text: "2026-11-28",
  date: day,
  "dates deep inside": { items: [{ at: day, name: "a" }, { at: null }], next: { until: day } },
  "an absent value": { cursor: undefined, items: [undefined, 1] },
  "keys with dots and backslashes": { "a.b": { "c\\d": day }, a: { b: day } },
  "the same object twice": [{ at: day }].flatMap((one) => [one, one]),
};

for (const [name, value] of Object.entries(values)) {
  test(`the browser reads what the server wrote: ${name}`, () => {
    expect(wire.deserialize(sent(superjson.serialize(value)))).toEqual(value);
  });

  test(`the server reads what the browser wrote: ${name}`, () => {
    expect(superjson.deserialize(sent(wire.serialize(value)))).toEqual(
      name === "an absent value" ? { items: [null, 1] } : value,
    );
  });
}

test("numbers that JSON lacks are read, and not sent as nothing", () => {
  expect(wire.deserialize(sent(superjson.serialize(beyondJson)))).toEqual(beyondJson);
  expect(() => wire.serialize(beyondJson)).toThrow(TypeError);
});

test("what no answer has is refused, not read as something else", () => {
  expect(() => wire.deserialize(sent(superjson.serialize(new Set([1]))))).toThrow(TypeError);
});
