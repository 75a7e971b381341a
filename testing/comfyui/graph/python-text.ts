import { isObject } from "../json.ts";

/** The value as Python's str() shows it. */
export function pythonText(value: unknown): string {
  return typeof value === "string" ? value : represent(value);
}

/** The value as Python's repr() shows it. */
export function represent(value: unknown): string {
  if (value === null || value === undefined) return "None";
  if (typeof value === "boolean") return value ? "True" : "False";
  if (typeof value === "string") return `'${value}'`;
  if (Array.isArray(value)) return `[${value.map(represent).join(", ")}]`;
  if (!isObject(value)) return JSON.stringify(value);
  const members = Object.entries(value).map(([key, member]) => `'${key}': ${represent(member)}`);
  return `{${members.join(", ")}}`;
}

/** The name of the value's type in Python. */
export function pythonType(value: unknown): string {
  if (value === null || value === undefined) return "NoneType";
  if (typeof value === "boolean") return "bool";
  if (typeof value === "string") return "str";
  if (typeof value === "number") return Number.isInteger(value) ? "int" : "float";
  return Array.isArray(value) ? "list" : "dict";
}

/** An exception of Python. */
export class PythonError extends Error {
  readonly type: string;

  constructor(type: string, message: string) {
    super(message);
    this.type = type;
  }
}
