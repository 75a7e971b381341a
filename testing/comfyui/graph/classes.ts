import { readFileSync } from "node:fs";
import { isObject, type JsonObject } from "../options.ts";
import type { Comfy } from "../server/session.ts";

/** One input of a node class, as the live `/object_info` of 0.8.0 told it. */
export interface InputFact {
  readonly type: string;
  readonly optional?: boolean;
  readonly default?: unknown;
  readonly min?: number;
  readonly max?: number;
  readonly step?: number;
  /** A list, or "files of <folder>". */
  readonly choices?: readonly string[] | string;
  readonly style?: "list" | "COMBO+options";
  /** Options that only a page has use for. */
  readonly more?: JsonObject;
  /** Any number of inputs `<name>.<member>` of this type stand for it. */
  readonly grows?: string;
  /** Shown without options: `["IMAGE"]`. */
  readonly isBare?: boolean;
}

/** How `/object_info` names and marks a class. */
interface NodeLabel {
  readonly display_name: string | null;
  readonly python_module: string;
  /** Classes of the newer kind, whose entries have more members. */
  readonly isNew?: boolean;
  readonly deprecated?: boolean;
  readonly experimental?: boolean;
  readonly hidden?: JsonObject;
  readonly bare?: readonly string[];
  readonly options?: Readonly<Record<string, JsonObject>>;
}

export interface NodeFact {
  readonly label: NodeLabel;
  readonly category: string;
  /** "TYPE" or "TYPE:name". */
  readonly outputs: readonly string[];
  readonly output_node?: boolean;
  readonly inputs: Readonly<Record<string, InputFact>>;
}

let facts: ReadonlyMap<string, NodeFact> | null = null;

/** The facts of 91 node classes by name; read once. */
function nodeFacts(): ReadonlyMap<string, NodeFact> {
  facts ??= readFacts();
  return facts;
}

let newer: ReadonlyMap<string, NodeFact> | null = null;

/** The facts of the classes that only the newer line has, as the live `/object_info` of 0.33.0 told them; those of Qwen-Image 2.1 are of 0.37, and those that follow a picture's outlines (Canny, ModelPatchLoader, ZImageFunControlnet) as documented. */
function newerFacts(): ReadonlyMap<string, NodeFact> {
  newer ??= new Map(Object.entries(readFixture<NodeFact>("node-facts-newer")));
  return newer;
}

/** The fact of a class in any line; undefined for an unknown class. */
export function anyFact(name: string): NodeFact | undefined {
  return nodeFacts().get(name) ?? newerFacts().get(name);
}

/** The classes of a line of the server. */
export function classNames({ options }: Pick<Comfy, "options">): string[] {
  return [...nodeFacts().keys(), ...(options.mode === "new" ? newerFacts().keys() : [])];
}

function readFacts(): ReadonlyMap<string, NodeFact> {
  const parsed: Record<string, Omit<NodeFact, "label">> = readFixture("node-facts");
  const labels: Record<string, NodeLabel> = readFixture("node-labels");
  const plain: NodeLabel = { display_name: null, python_module: "nodes" };
  return new Map(
    Object.entries(parsed).map(([name, fact]) => [name, labelFact(fact, labels[name] ?? plain)] as const),
  );
}

function labelFact(fact: Omit<NodeFact, "label">, label: NodeLabel): NodeFact {
  const inputs = Object.entries(fact.inputs).map(([name, input]) => [
    name,
    { ...input, more: label.options?.[name] ?? {}, isBare: label.bare?.includes(name) ?? false },
  ]);
  return { ...fact, label, inputs: Object.fromEntries(inputs) };
}

function readFixture<T>(name: string): Record<string, T> {
  const text = readFileSync(new URL(`../fixtures/${name}.json`, import.meta.url), "utf8");
  const parsed: Record<string, T> = JSON.parse(text);
  return parsed;
}

/** Types of the outputs, in order. */
export function outputTypes(fact: NodeFact): string[] {
  return fact.outputs.map((output) => output.split(":")[0] ?? output);
}

/** Needs no file. */
const builtInVae = "pixel_space";
const pictures = /\.(png|jpe?g|webp|gif|bmp|tiff?|svg|avif)$/i;
const filesOf = "files of ";

/** The choices of a combo on this server; null for other types. */
export function choicesOf(comfy: Comfy, fact: InputFact): readonly string[] | null {
  if (fact.type !== "COMBO") return null;
  if (typeof fact.choices !== "string") return fact.choices ?? [];
  const folder = fact.choices.startsWith(filesOf) ? fact.choices.slice(filesOf.length) : fact.choices;
  if (folder === "input") return comfy.files.names("input").filter((name) => pictures.test(name));
  const names = (comfy.models[folder] ?? []).toSorted();
  return folder === "vae" ? [...names, builtInVae] : names;
}

/** An input as `object_info` and errors show it: `[TYPE, options]` in the old or the new combo style. */
export function inputConfig(comfy: Comfy, fact: InputFact): readonly unknown[] {
  const options: Record<string, unknown> = {};
  for (const key of ["default", "min", "max", "step"] as const) {
    if (fact[key] !== undefined) options[key] = fact[key];
  }
  const choices = choicesOf(comfy, fact);
  Object.assign(options, fact.more);
  const isList = choices !== null && fact.style === "list";
  if (fact.grows !== undefined) return [fact.type, { template: { min: 0 } }];
  if (isList || !choices) return [choices ?? fact.type, options];
  // A list that the page fetches itself is not in the entry.
  if ("remote" in options) return ["COMBO", options];
  return ["COMBO", { multiselect: false, ...options, options: choices }];
}

/** The fact of a class that this server has. */
export function factOf(comfy: Comfy, name: string): NodeFact | undefined {
  if (comfy.missingClasses.has(name)) return undefined;
  return comfy.options.mode === "new" ? anyFact(name) : nodeFacts().get(name);
}

/** The entry of `/object_info` for a class. */
export function describeClass(comfy: Comfy, name: string, fact: NodeFact): JsonObject {
  const required: JsonObject = {};
  const optional: JsonObject = {};
  for (const [input, inputFact] of Object.entries(fact.inputs)) {
    const config = inputConfig(comfy, inputFact);
    (inputFact.optional ? optional : required)[input] = inputFact.isBare ? config.slice(0, 1) : config;
  }
  const { isNew = false, hidden, ...label } = fact.label;
  const sections = { required, optional, ...(hidden ? { hidden } : {}) };
  const filled = Object.entries(sections).filter(
    ([key, list]) => key === "required" || keysOf(list).length > 0,
  );
  const nulls = fact.outputs.map(() => null);
  return {
    input: Object.fromEntries(filled),
    input_order: Object.fromEntries(filled.map(([key, list]) => [key, keysOf(list)])),
    output: outputTypes(fact),
    output_is_list: fact.outputs.map(() => false),
    output_name: fact.outputs.map((output) => output.split(":").at(-1)),
    ...(isNew ? { output_tooltips: nulls, output_matchtypes: null } : {}),
    name,
    display_name: label.display_name,
    description: "",
    python_module: label.python_module,
    category: fact.category,
    output_node: fact.output_node ?? false,
    ...marksOf(fact.label),
  };
}

const keysOf = (list: JsonObject) => Object.keys(list);

/** Classes of the newer kind have each mark, the older ones what they are only. */
function marksOf({ isNew, deprecated, experimental }: NodeLabel): JsonObject {
  const marks = { deprecated: deprecated === true, experimental: experimental === true };
  if (isNew) return { ...marks, api_node: false };
  return Object.fromEntries(Object.entries(marks).filter(([, isSet]) => isSet));
}

export interface GraphNode {
  readonly class_type: string;
  readonly inputs: JsonObject;
}

/** A graph in API format whose nodes all have a class. */
export type Graph = Readonly<Record<string, GraphNode>>;

export type Link = readonly [nodeId: string, slot: number];

/** Whether the value is a link that can be followed. */
export function isLink(value: unknown): value is Link {
  return (
    Array.isArray(value) && value.length === 2 && typeof value[0] === "string" && Number.isInteger(value[1])
  );
}

/** Reads a raw node; null when it has no class. */
export function asNode(value: unknown): GraphNode | null {
  if (!isObject(value) || typeof value.class_type !== "string") return null;
  return { class_type: value.class_type, inputs: isObject(value.inputs) ? value.inputs : {} };
}

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
