import type { Graph } from "./graph.ts";

/** One input of one node, written `<nodeId>.<input>`; the input's own name may hold dots. */
interface Place {
  readonly nodeId: string;
  readonly input: string;
}

export function placeOf(address: string): Place {
  const dot = address.indexOf(".");
  return { nodeId: address.slice(0, dot), input: address.slice(dot + 1) };
}

/** What stands at a place; undefined when the graph has no such place. */
export function readPlace(graph: Graph, address: string): unknown {
  const { nodeId, input } = placeOf(address);
  const node = Object.hasOwn(graph, nodeId) ? graph[nodeId] : undefined;
  return node && Object.hasOwn(node.inputs, input) ? node.inputs[input] : undefined;
}

/** Changes the graph; a place whose node was removed is left out. */
export function writePlace(graph: Graph, address: string, value: Graph[string]["inputs"][string]): void {
  const { nodeId, input } = placeOf(address);
  const node = Object.hasOwn(graph, nodeId) ? graph[nodeId] : undefined;
  if (node) node.inputs[input] = value;
}
