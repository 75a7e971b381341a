import { readdirSync, readFileSync } from "node:fs";
import { asNode, type Graph, type GraphNode } from "../graph/graph.ts";
import { nodeFacts } from "../graph/classes.ts";
import { isObject, parseJson } from "../json.ts";

const folder = new URL("../fixtures/graphs/", import.meta.url);

/** Names of the 18 fixture graphs. */
export function graphNames(): string[] {
  return readdirSync(folder).map((file) => file.replace(/\.json$/, ""));
}

/** A fresh copy of a fixture graph. */
export function readGraph(name: string): Graph {
  const parsed = parseJson(readFileSync(new URL(`${name}.json`, folder), "utf8"));
  const nodes: Record<string, GraphNode> = {};
  for (const [nodeId, value] of Object.entries(isObject(parsed) ? parsed : {})) {
    const node = asNode(value);
    if (node) nodes[nodeId] = node;
  }
  return nodes;
}

/** The model files that graphs name, by folder. */
export function modelsOf(graphs: readonly Graph[]): Record<string, string[]> {
  const models: Record<string, string[]> = {};
  for (const node of graphs.flatMap((graph) => Object.values(graph))) {
    for (const [input, { choices }] of Object.entries(nodeFacts().get(node.class_type)?.inputs ?? {})) {
      const name = node.inputs[input];
      if (typeof choices !== "string" || typeof name !== "string") continue;
      const files = (models[choices.replace(/^files of /, "")] ??= []);
      if (!files.includes(name)) files.push(name);
    }
  }
  delete models.input;
  return models;
}

/** Every model that the fixture graphs need. */
export function allGraphModels(): Record<string, string[]> {
  return modelsOf(graphNames().map(readGraph));
}
