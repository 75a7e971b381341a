import type { Comfy } from "../server/comfy.ts";
import { choicesOf } from "./choices-of.ts";
import type { InputFact } from "./node-facts.ts";

/** An input as `object_info` and errors show it: `[TYPE, options]` in the old or the new combo style. */
export function inputConfig(comfy: Comfy, fact: InputFact): [unknown, Record<string, unknown>] {
  const options: Record<string, unknown> = {};
  for (const key of ["default", "min", "max", "step"] as const) {
    if (fact[key] !== undefined) options[key] = fact[key];
  }
  const choices = choicesOf(comfy, fact);
  if (!choices) return [fact.type, options];
  if (fact.choices === "files of input") options.image_upload = true;
  if (fact.style === "list") return [choices, options];
  return ["COMBO", { multiselect: false, ...options, options: choices }];
}
