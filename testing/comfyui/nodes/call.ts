import type { JsonObject } from "../json.ts";
import type { Frame } from "../pictures.ts";
import type { LatentValue, Value } from "./value.ts";

/** The inputs of one node, read by type; a missing one throws TypeError as Python would. */
export interface Inputs {
  number(name: string): number;
  text(name: string): string;
  flag(name: string): boolean;
  image(name: string): readonly Frame[];
  mask(name: string): readonly Frame[];
  latent(name: string): LatentValue;
  optional(name: string): Value | null;
}

/** `links` holds the values that arrived over links, `literals` the rest. */
export function readInputs(literals: JsonObject, links: ReadonlyMap<string, Value>): Inputs {
  const optional = (name: string) => links.get(name) ?? null;
  const wrong = (name: string) => new TypeError(`missing 1 required positional argument: '${name}'`);
  const linked = <K extends Value["kind"]>(name: string, kind: K): Extract<Value, { kind: K }> => {
    const value = links.get(name);
    if (!value || !isKind(value, kind)) throw wrong(name);
    return value;
  };
  return {
    optional,
    number: (name) => {
      const value = links.get(name);
      if (value?.kind === "number") return value.value;
      const literal = literals[name];
      if (typeof literal !== "number") throw wrong(name);
      return literal;
    },
    text: (name) => (typeof literals[name] === "string" ? literals[name] : ""),
    flag: (name) => literals[name] === true,
    image: (name) => linked(name, "image").frames,
    mask: (name) => linked(name, "mask").frames,
    latent: (name) => linked(name, "latent"),
  };
}

function isKind<K extends Value["kind"]>(value: Value, kind: K): value is Extract<Value, { kind: K }> {
  return value.kind === kind;
}
