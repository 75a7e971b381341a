import { readFileSync } from "node:fs";
import type { JsonObject } from "../json.ts";

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
  /** Shown without options: `["IMAGE"]`. */
  readonly isBare?: boolean;
}

/** How `/object_info` names and marks a class. */
export interface NodeLabel {
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
export function nodeFacts(): ReadonlyMap<string, NodeFact> {
  facts ??= readFacts();
  return facts;
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
