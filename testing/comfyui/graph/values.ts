import type { JsonObject } from "../json.ts";
import type { Comfy } from "../server/comfy.ts";
import { choicesOf } from "./choices-of.ts";
import { convertValue } from "./convert-value.ts";
import { inputConfig } from "./input-config.ts";
import type { InputFact } from "./classes.ts";
import { pythonText } from "./python-text.ts";

export interface NodeError {
  readonly type: string;
  readonly message: string;
  readonly details: string;
  readonly extra_info: JsonObject;
}

/** One input that is checked: `hasOwnCheck` inputs are judged by their node alone. */
export interface CheckedInput {
  readonly name: string;
  readonly fact: InputFact;
  readonly hasOwnCheck: boolean;
}

/** Lists longer than this are not sent back. */
const longestShownList = 20;

/** Checks a literal; answers the converted value or the server's error. */
export function checkValue(
  comfy: Comfy,
  input: CheckedInput,
  received: unknown,
): { value: unknown } | { error: NodeError } {
  const converted = convertValue(input.fact.type, received);
  if (input.hasOwnCheck && "value" in converted) return converted;
  const config = inputConfig(comfy, input.fact);
  const extra = { input_name: input.name, input_config: config, received_value: received };
  if ("problem" in converted) {
    const message = `Failed to convert an input value to a ${input.fact.type} value`;
    const details = `${input.name}, ${pythonText(received)}, ${converted.problem}`;
    const extraInfo = { ...extra, exception_message: converted.problem };
    return { error: { type: "invalid_input_type", message, details, extra_info: extraInfo } };
  }
  const kept = { ...extra, received_value: converted.value };
  const error = checkRange(input, converted.value, kept) ?? checkChoice(comfy, input, kept);
  return error ? { error } : converted;
}

function checkRange(input: CheckedInput, value: unknown, extra: JsonObject): NodeError | null {
  if (typeof value !== "number") return null;
  const { min, max, type } = input.fact;
  const shown = (number: number) =>
    type === "FLOAT" && Number.isInteger(number) ? number.toFixed(1) : String(number);
  const found = (type: string, message: string) => ({
    type,
    message,
    details: input.name,
    extra_info: extra,
  });
  if (min !== undefined && value < min) {
    return found("value_smaller_than_min", `Value ${shown(value)} smaller than min of ${shown(min)}`);
  }
  if (max !== undefined && value > max) {
    return found("value_bigger_than_max", `Value ${shown(value)} bigger than max of ${shown(max)}`);
  }
  return null;
}

function checkChoice(comfy: Comfy, input: CheckedInput, extra: JsonObject): NodeError | null {
  const choices = choicesOf(comfy, input.fact);
  const value = extra.received_value;
  if (!choices || (typeof value === "string" && choices.includes(value))) return null;
  const isLong = choices.length > longestShownList;
  const shown = isLong ? `(list of length ${choices.length})` : pythonList(choices);
  return {
    type: "value_not_in_list",
    message: "Value not in list",
    details: `${input.name}: '${pythonText(value)}' not in ${shown}`,
    extra_info: isLong ? { ...extra, input_config: null } : extra,
  };
}

function pythonList(items: readonly string[]): string {
  return `[${items.map((item) => `'${item}'`).join(", ")}]`;
}
