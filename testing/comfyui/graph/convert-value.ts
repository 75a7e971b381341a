import { isObject } from "../json.ts";
import { pythonText, pythonType } from "./python-text.ts";

type Converted = { value: unknown } | { problem: string };

/** Turns a literal into the input's type as Python's int(), float(), str() and bool() do. */
export function convertValue(type: string, received: unknown): Converted {
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
