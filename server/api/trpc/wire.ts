import type { TRPCCombinedDataTransformer } from "@trpc/server";
import superjson from "superjson";
import { z } from "zod";
import { AppError, requireReadable } from "../../platform/index.ts";

type Tree = readonly [(typeof taken)[number]] | { readonly [path: string]: Tree };

/** What an input may say of its values. Others of the library's types cost far more than their bytes, as an array of a billion numbers does. */
const taken = ["Date", "undefined"] as const;
const treeSchema: z.ZodType<Tree> = z.lazy(() =>
  z.union([z.tuple([z.enum(taken)]), z.record(z.string(), treeSchema)]),
);

/** What is said of equal parts is left out: the JSON has each of them. */
const inputSchema = z.object({
  json: z.unknown(),
  meta: z.object({ values: treeSchema.optional(), v: z.number().optional() }).optional(),
});

/** An input as the page sent it. Throws `bad_request`. */
export function readInput(sent: unknown): unknown {
  requireReadable(Reflect.get(Object(sent), "meta"));
  try {
    const { json, meta } = inputSchema.parse(sent);
    // Safe casts: the schema has checked what the library reads of it.
    return superjson.deserialize({ json, meta } as Parameters<typeof superjson.deserialize>[0], {
      inPlace: true,
    });
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
