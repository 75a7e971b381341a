import { isObject, type JsonObject } from "../options.ts";
import type { Comfy } from "../server/session.ts";
import { choicesOf, inputConfig, type InputFact, pythonText, pythonType } from "./classes.ts";

type Converted = { value: unknown } | { problem: string };

/** Turns a literal into the input's type as Python's int(), float(), str() and bool() do. */
function convertValue(type: string, received: unknown): Converted {
  const raw = isObject(received) && "__value__" in received ? received.__value__ : received;
  if (type === "INT") return toInteger(raw);
  if (type === "FLOAT") return toNumber(raw);
  if (type === "STRING") return { value: pythonText(raw) };
  if (type === "BOOLEAN") return { value: Boolean(raw) };
  return { value: raw };
}

function toInteger(raw: unknown): Converted {
  if (typeof raw === "number") return { value: Math.trunc(raw) };
  if (typeof raw === "boolean") return { value: Number(raw) };
  if (typeof raw === "string" && /^\s*[+-]?\d+\s*$/.test(raw)) return { value: Number(raw) };
  if (typeof raw === "string") return { problem: `invalid literal for int() with base 10: '${raw}'` };
  const kind = pythonType(raw);
  return {
    problem: `int() argument must be a string, a bytes-like object or a real number, not '${kind}'`,
  };
}

function toNumber(raw: unknown): Converted {
  if (typeof raw === "number" || typeof raw === "boolean") return { value: Number(raw) };
  if (typeof raw === "string" && raw.trim() !== "" && !Number.isNaN(Number(raw)))
    return { value: Number(raw) };
  if (typeof raw === "string") return { problem: `could not convert string to float: '${raw}'` };
  return { problem: `float() argument must be a string or a real number, not '${pythonType(raw)}'` };
}

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
