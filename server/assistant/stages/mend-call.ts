import type { ToolCallRepairFunction, ToolSet } from "ai";
import { outermostObjects } from "./loose-json.ts";

/** What is used of a JSON Schema. */
interface Form {
  readonly type?: string | readonly string[];
  readonly anyOf?: readonly Form[];
  readonly format?: string;
}

/** The form of a tool's arguments. */
export interface Forms {
  readonly properties?: Readonly<Record<string, Form>>;
  readonly required?: readonly string[];
}

type Arguments = Readonly<Record<string, unknown>>;

/** Words with which models say that they leave something out. */
const nothing: ReadonlySet<unknown> = new Set([null, undefined, "", "null", "None", "undefined"]);
/** What models wrap the arguments in. */
const wrappers = ["arguments", "parameters", "input"];

/** Beside a name: markup of the model, the number of the call, and brackets. */
const behindName = /<\|[^]*$|:\d+\s*$|\([^]*$/g;
const lettersOf = (name: string) => name.toLowerCase().replaceAll(/[^a-z0-9]/g, "");

/**
 * The name of one of the tools: models of some servers write a part of their own markup, or a namespace, beside it, or spell it
 * in another style.
 */
function nameIn(tools: ToolSet, name: string): string | null {
  const own =
    name
      .replaceAll(behindName, "")
      .split(/[.:/]|__/)
      .at(-1)
      ?.trim() ?? "";
  if (Object.hasOwn(tools, own)) return own;
  const [alike = null, other] = Object.keys(tools).filter((tool) => lettersOf(tool) === lettersOf(own));
  return other === undefined ? alike : null;
}

/** Servers that send the arguments in pieces repeat the first brace, or all of them. */
const doubledBrace = /^\s*\{\s*(?=\{)/;

/**
 * The arguments of a call as an object: as loose JSON, in JSON within JSON, or of several objects the one with anything in it.
 * Null for what is broken off, and for two that differ: a part of what was meant may be another order.
 */
function readArguments(text: string, properties: Arguments): Arguments | null {
  const objects = outermostObjects(unquote(text).replace(doubledBrace, "")) as Arguments[] | null;
  if (objects === null) return null;
  const filled = objects.filter((each) => Object.keys(each).length > 0);
  const [found = {}, second] = new Map(filled.map((each) => [JSON.stringify(each), each])).values();
  if (second !== undefined) return null;
  const [wrapper = "", ...others] = Object.keys(found);
  if (others.length > 0 || !wrappers.includes(wrapper) || Object.hasOwn(properties, wrapper)) return found;
  const inner = found[wrapper];
  return readArguments(typeof inner === "string" ? inner : JSON.stringify(inner), properties);
}

function unquote(text: string): string {
  if (!text.trim().startsWith('"')) return text;
  try {
    return String(JSON.parse(text));
  } catch {
    return text;
  }
}

/** The types that a form allows for a value. */
function typesOf({ type = [], anyOf = [] }: Form): readonly string[] {
  return [type, anyOf.flatMap(typesOf)].flat();
}

/** A value in the type that the form has: numbers, flags and lists come as text, single things come without their list. */
function mendValue(value: unknown, form: Form): unknown {
  const types = typesOf(form);
  const isOf = (...names: string[]) => names.some((name) => types.includes(name));
  if (isOf("array")) return Array.isArray(value) ? value : listIn(value);
  if (Array.isArray(value) && value.length === 1) return mendValue(value[0], form);
  if (typeof value === "string") {
    const text = value.trim();
    if (isOf("number", "integer") && /^[+-]?\d+(?:\.\d+)?$/.test(text)) return Number(text);
    return form.format === "date" ? text.slice(0, "2026-01-31".length) : value;
  }
  return typeof value === "number" && isOf("string") ? String(value) : value;
}

function listIn(value: unknown): readonly unknown[] {
  if (typeof value !== "string" || !value.trim().startsWith("[")) return [value];
  const [found] = (outermostObjects(`{list: ${value}}`) ?? []) as { list?: unknown }[];
  return Array.isArray(found?.list) ? found.list : [value];
}

/**
 * A call of a tool that the SDK refuses, as its form has it; null where that is not to be found. Models at home leave out by
 * null or an empty text, write numbers and lists as text and JSON into JSON: refused, they mostly write the same again.
 */
export const mendCall: ToolCallRepairFunction<ToolSet> = async ({ toolCall, tools, inputSchema }) => {
  const toolName = nameIn(tools, toolCall.toolName);
  if (toolName === null) return null;
  // Safe cast: made of the forms of the tools, which are objects.
  const forms = (await inputSchema({ toolName })) as Forms;
  const given = readArguments(toolCall.input, forms.properties ?? {});
  return given && { ...toolCall, toolName, input: JSON.stringify(mendArguments(given, forms)) };
};

/** The arguments without those that may be left out and say nothing. */
export const saidArguments = (given: Arguments, { required = [] }: Forms): Arguments =>
  Object.fromEntries(
    Object.entries(given).filter(([name, value]) => required.includes(name) || !nothing.has(value)),
  );

/** The arguments in the types of their form, without those that say nothing. A flag is never made of a text: it may be a consent. */
export function mendArguments(given: Arguments, forms: Forms): Arguments {
  const mended = Object.entries(saidArguments(given, forms)).map(([name, value]): [string, unknown] => {
    const form = forms.properties?.[name];
    return [name, form ? mendValue(value, form) : value];
  });
  return Object.fromEntries(mended);
}
