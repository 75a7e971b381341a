import { readFileSync } from "node:fs";

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
}

export interface NodeFact {
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
  const text = readFileSync(new URL("../fixtures/node-facts.json", import.meta.url), "utf8");
  const parsed: Record<string, NodeFact> = JSON.parse(text);
  return new Map(Object.entries(parsed));
}

/** Types of the outputs, in order. */
export function outputTypes(fact: NodeFact): string[] {
  return fact.outputs.map((output) => output.split(":")[0] ?? output);
}
