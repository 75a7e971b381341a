import fc from "fast-check";

export type Json = Readonly<Record<string, unknown>>;

const isObject = (value: unknown): value is Json =>
  typeof value === "object" && value !== null && !Array.isArray(value);
const objectOf = (value: unknown): Json => (isObject(value) ? value : {});
const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);
const numberOf = (value: unknown, otherwise: number): number =>
  typeof value === "number" ? value : otherwise;

const formats: Readonly<Record<string, fc.Arbitrary<string>>> = {
  uuid: fc.uuid(),
  "date-time": fc
    .date({ min: new Date("2000-01-01"), max: new Date("2040-01-01"), noInvalidDate: true })
    .map((date) => date.toISOString()),
  uri: fc.webUrl(),
  email: fc.emailAddress(),
  timezone: fc.constantFrom("UTC", "Europe/Sofia", "America/Argentina/Buenos_Aires", "Asia/Kolkata"),
};

const matching = new Map<string, fc.Arbitrary<string>>();

/** Kept, since all characters of Unicode are tried against a pattern like `\P{Cc}`: a second or more each time. */
function matchesOf(pattern: string): fc.Arbitrary<string> {
  const known = matching.get(pattern) ?? fc.stringMatching(new RegExp(pattern, "u"), { size: "small" });
  matching.set(pattern, known);
  return known;
}

function textOf(schema: Json): fc.Arbitrary<string> {
  const format = formats[String(schema["format"])];
  if (format) return format;
  const minLength = numberOf(schema["minLength"], 0);
  const maxLength = Math.min(numberOf(schema["maxLength"], minLength + 40), minLength + 400);
  if (typeof schema["pattern"] === "string")
    return matchesOf(schema["pattern"]).filter(
      ({ length }) => length >= minLength && length <= numberOf(schema["maxLength"], Infinity),
    );
  return fc.oneof(
    fc.string({ minLength, maxLength }),
    fc.string({ unit: "binary", minLength, maxLength }).filter((text) => !text.includes("\0")),
  );
}

function numbersOf(schema: Json): fc.Arbitrary<number> {
  const min = numberOf(schema["minimum"], numberOf(schema["exclusiveMinimum"], -1e9));
  const max = numberOf(schema["maximum"], numberOf(schema["exclusiveMaximum"], 1e9));
  const within = (value: number) =>
    value !== schema["exclusiveMinimum"] && value !== schema["exclusiveMaximum"];
  if (schema["type"] === "integer")
    return fc.integer({ min: Math.ceil(min), max: Math.min(Math.floor(max), 2 ** 31) }).filter(within);
  return fc.double({ min, max, noNaN: true }).filter(within);
}

function recordsOf(schema: Json): fc.Arbitrary<Json> {
  const properties = objectOf(schema["properties"]);
  const members = Object.fromEntries(
    Object.entries(properties).map(([name, property]) => [name, valuesOf(objectOf(property))]),
  );
  const requiredKeys = listOf(schema["required"]).filter((name): name is string => typeof name === "string");
  const record: fc.Arbitrary<Json> = fc.record(members, { requiredKeys });
  const more = schema["additionalProperties"];
  if (Object.keys(members).length > 0 || !isObject(more)) return record;
  return fc.dictionary(fc.string({ minLength: 1, maxLength: 8 }), valuesOf(more), { maxKeys: 3 });
}

function listsOf(schema: Json): fc.Arbitrary<unknown[]> {
  const minLength = numberOf(schema["minItems"], 0);
  const maxLength = Math.min(numberOf(schema["maxItems"], minLength + 3), minLength + 5);
  const items = objectOf(schema["items"]);
  if (!isObject(schema["contains"])) return fc.array(valuesOf(items), { minLength, maxLength });
  const contained = objectOf(schema["contains"]["properties"]);
  const one = valuesOf({ ...items, properties: { ...objectOf(items["properties"]), ...contained } });
  const others = fc.array(valuesOf(items), { maxLength: maxLength - 1 });
  return fc.tuple(one, others).map(([first, rest]) => [...rest, first]);
}

const kinds: Readonly<Record<string, (schema: Json) => fc.Arbitrary<unknown>>> = {
  string: textOf,
  integer: numbersOf,
  number: numbersOf,
  boolean: () => fc.boolean(),
  null: () => fc.constant(null),
  array: listsOf,
  object: recordsOf,
};

/** Values that a JSON schema of the API's document allows. */
export function valuesOf(schema: Json): fc.Arbitrary<unknown> {
  // Beside members, the choices say only which of them go together.
  const choices = isObject(schema["properties"]) ? [] : listOf(schema["anyOf"] ?? schema["oneOf"]);
  if (choices.length > 0) return fc.oneof(...choices.map((choice) => valuesOf(objectOf(choice))));
  if ("const" in schema) return fc.constant(schema["const"]);
  if (Array.isArray(schema["enum"])) return fc.constantFrom(...listOf(schema["enum"]));
  const [type] = [schema["type"] ?? (isObject(schema["properties"]) ? "object" : null)].flat();
  const kind = typeof type === "string" ? kinds[type] : undefined;
  return kind ? kind({ ...schema, type }) : fc.jsonValue({ maxDepth: 2 });
}

const oddities: readonly unknown[] = [
  null,
  true,
  -1,
  1e308,
  2 ** 53,
  "",
  "\0",
  "\ud800",
  "x".repeat(5_000),
  "../../etc/passwd",
  [],
  {},
  [[[[]]]],
  { __proto__: { admin: true }, constructor: 1 },
];

/** A value with something wrong at a random place: a member gone, of another kind, or one too many. */
export function spoiled(values: fc.Arbitrary<unknown>): fc.Arbitrary<unknown> {
  const odd = fc.oneof(fc.constantFrom(...oddities), fc.jsonValue({ maxDepth: 3 }));
  const changed = fc
    .tuple(values, odd, fc.nat(), fc.constantFrom("drop", "set", "add"))
    .map(([value, other, at, how]): unknown => {
      if (!isObject(value)) return other;
      const names = Object.keys(value);
      const name = names[at % Math.max(1, names.length)] ?? "unknown";
      if (how === "drop") return Object.fromEntries(Object.entries(value).filter(([each]) => each !== name));
      return { ...value, [how === "add" ? `${name}_` : name]: other };
    });
  return fc.oneof({ weight: 4, arbitrary: changed }, { weight: 1, arbitrary: odd });
}
