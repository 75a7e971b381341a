import { isStorable, storableText } from "../platform/index.ts";

/** PostgreSQL types by their OID in `pg_type`. */
const oid = {
  bool: 16,
  int2: 21,
  int4: 23,
  int8: 20,
  float4: 700,
  float8: 701,
  text: 25,
  varchar: 1043,
  json: 114,
  jsonb: 3802,
  date: 1082,
  time: 1083,
  timestamp: 1114,
  timestamptz: 1184,
  arrays: {
    bool: 1000,
    int2: 1005,
    int4: 1007,
    int8: 1016,
    float4: 1021,
    float8: 1022,
    text: 1009,
    uuid: 2951,
  },
} as const;

const escaped = /["\\]/g;

function writeItem(item: string | number | boolean | null | undefined): string {
  return item === null || item === undefined
    ? "NULL"
    : `"${storableText(String(item)).replaceAll(escaped, String.raw`\$&`)}"`;
}

/** An array of one dimension in PostgreSQL's notation; a string is already in this notation. */
function writeArray(value: unknown): string {
  if (!Array.isArray(value)) return String(value);
  return `{${value.map(writeItem).join(",")}}`;
}

const arrayItem = /"((?:[^"\\]|\\.)*)"|([^",{}]+)/gs;

/** The items of an array of one dimension. */
function readArray<Item>(text: string, readItem: (text: string) => Item): (Item | null)[] {
  return [...text.matchAll(arrayItem)].map(([, quoted, plain = ""]) => {
    if (quoted !== undefined) return readItem(quoted.replaceAll(/\\(.)/gs, "$1"));
    return plain === "NULL" ? null : readItem(plain);
  });
}

function arraysOf<Item>(types: readonly [number, ...number[]], readItem: (text: string) => Item) {
  return {
    to: types[0],
    from: [...types],
    serialize: writeArray,
    parse: (text: string) => readArray(text, readItem),
  };
}

const writeDate = (value: unknown) => (value instanceof Date ? value.toISOString() : String(value));
const writeText = (value: unknown) => storableText(String(value));

/** Escapes of what `jsonb` refuses: NUL, and halves of surrogate pairs, which `JSON.stringify` writes only when they are alone. */
const unstorable = /\\u(?:0000|d[89a-f]|D[89A-F])/;

function writeJson(value: unknown): string {
  const text = typeof value === "string" ? value : JSON.stringify(value);
  return unstorable.test(text) || !isStorable(text) ? JSON.stringify(toStorable(JSON.parse(text))) : text;
}

function toStorable(value: unknown): unknown {
  if (typeof value === "string") return storableText(value);
  if (Array.isArray(value)) return value.map(toStorable);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => [storableText(name), toStorable(member)]),
  );
}

const asText = (text: string) => text;
const isTrue = (text: string) => text === "t";

/**
 * How values are written and read in all statements. What PostgreSQL cannot store in a text is replaced here, whoever wrote
 * it: servers, models and files of others; requests with such texts are refused before. Times stay strings, which the
 * schema's columns parse; `bigint` and `numeric` stay strings too. A string for a JSON column is already JSON. The array
 * types are listed, so that no connection queries the server for its types.
 */
export const wireTypes = {
  bool: { to: oid.bool, from: [oid.bool], serialize: String, parse: isTrue },
  text: { to: oid.text, from: [oid.text, oid.varchar], serialize: writeText, parse: asText },
  json: { to: oid.json, from: [oid.json, oid.jsonb], serialize: writeJson, parse: JSON.parse },
  time: {
    to: oid.timestamptz,
    from: [oid.timestamptz, oid.timestamp, oid.date, oid.time],
    serialize: writeDate,
    parse: asText,
  },
  textArray: arraysOf([oid.arrays.text, oid.arrays.uuid, oid.arrays.int8], asText),
  numberArray: arraysOf([oid.arrays.int4, oid.arrays.int2, oid.arrays.float4, oid.arrays.float8], Number),
  boolArray: arraysOf([oid.arrays.bool], isTrue),
};
