import type { Comfy } from "../server/comfy.ts";
import { choicesOf } from "./choices-of.ts";
import type { InputFact } from "./classes.ts";

/** An input as `object_info` and errors show it: `[TYPE, options]` in the old or the new combo style. */
export function inputConfig(comfy: Comfy, fact: InputFact): readonly unknown[] {
  const options: Record<string, unknown> = {};
  for (const key of ["default", "min", "max", "step"] as const) {
    if (fact[key] !== undefined) options[key] = fact[key];
  }
  const choices = choicesOf(comfy, fact);
  Object.assign(options, fact.more);
  const isList = choices !== null && fact.style === "list";
  if (isList || !choices) return [choices ?? fact.type, options];
  // A list that the page fetches itself is not in the entry.
  if ("remote" in options) return ["COMBO", options];
  return ["COMBO", { multiselect: false, ...options, options: choices }];
}
