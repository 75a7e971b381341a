import type { Comfy } from "../server/comfy.ts";
import type { InputFact } from "./node-facts.ts";

const filesOf = "files of ";

/** The choices of a combo on this server; null for other types. */
export function choicesOf(comfy: Comfy, fact: InputFact): readonly string[] | null {
  if (fact.type !== "COMBO") return null;
  if (typeof fact.choices !== "string") return fact.choices ?? [];
  const folder = fact.choices.startsWith(filesOf) ? fact.choices.slice(filesOf.length) : fact.choices;
  return folder === "input" ? comfy.files.names("input") : (comfy.models[folder] ?? []);
}
