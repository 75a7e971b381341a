import type { TRPCCombinedDataTransformer } from "@trpc/server";
import superjson from "superjson";
import { z } from "zod";
import { AppError, requireReadable } from "../../platform/index.ts";

/** What an input may say of its values. Others of the library's types cost far more than their bytes, as an array of a billion numbers does. */
const leafSchema = z.tuple([z.enum(["Date", "undefined"])]);
type Leaf = z.infer<typeof leafSchema>;

/** Of the whole, or of parts by their paths. What is said of equal parts is left out: the JSON has each of them. */
const inputSchema = z.object({
  json: z.unknown().optional(),
  meta: z.object({ values: z.union([leafSchema, z.record(z.string(), leafSchema)]).optional() }).optional(),
});

/** The names in a path, which dots part; a backslash stands before a dot and a backslash of a name. */
function keysOf(path: string): string[] {
  const keys: string[] = [];
  let key = "";
  for (const [sign] of path.matchAll(/\\.|./gs)) {
    if (sign === ".") {
      keys.push(key);
      key = "";
    } else key += sign.slice(-1);
  }
  return [...keys, key];
}

/** The member of the JSON itself: an index that it does not have would make an array of billions. */
function memberOf(holder: unknown, key: string): unknown {
  if (!Object.prototype.propertyIsEnumerable.call(Object(holder), key))
    throw new Error("There is no such part.");
  return Reflect.get(Object(holder), key);
}

function restore(value: unknown, [type]: Leaf): Date | undefined {
  if (type === "undefined") return undefined;
  return new Date(z.string().parse(value));
}

function restoreAt(json: unknown, path: string, leaf: Leaf): void {
  const keys = keysOf(path);
  const last = keys.pop() ?? "";
  const holder = keys.reduce(memberOf, json);
  Reflect.set(Object(holder), last, restore(memberOf(holder, last), leaf));
}

/** An input as the page sent it, which this changes. Throws `bad_request`. */
export function readInput(sent: unknown): unknown {
  requireReadable(Reflect.get(Object(sent), "meta"));
  try {
    const { json, meta: { values = {} } = {} } = inputSchema.parse(sent);
    if (Array.isArray(values)) return restore(json, values);
    for (const [path, leaf] of Object.entries(values)) restoreAt(json, path, leaf);
    return json;
  } catch (cause) {
    throw new AppError("bad_request", "The input has values that are not taken.", { cause });
  }
}

/** Names that the library refuses to write: whoever reads an answer could take them for those of every object. */
const refused = new Set(["__proto__", "constructor", "prototype"]);

/** A copy without the members of these names, which only a client's own marks have. */
function withoutRefused(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutRefused);
  if (typeof value !== "object" || value === null || value instanceof Date) return value;
  const members = Object.entries(value).filter(([name]) => !refused.has(name));
  return Object.fromEntries(members.map(([name, member]) => [name, withoutRefused(member)]));
}

/** An answer as the page reads it. */
export function writeAnswer(value: unknown): ReturnType<typeof superjson.serialize> {
  try {
    return superjson.serialize(value);
  } catch {
    // Such names are rare, and all answers would have to be looked through before.
    return superjson.serialize(withoutRefused(value));
  }
}

export const wire: TRPCCombinedDataTransformer = {
  input: { serialize: (value: unknown) => superjson.serialize(value), deserialize: readInput },
  output: { serialize: writeAnswer, deserialize: superjson.deserialize },
};
