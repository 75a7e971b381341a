import type { Graph } from "./graph.ts";
import type { InputSpec } from "./manifest.ts";
import { writePlace } from "./place.ts";

/** Changes the graph to what it is when the picture is not given. */
export function takeOut(graph: Graph, without: InputSpec["without"]): void {
  for (const nodeId of without?.remove ?? []) delete graph[nodeId];
  for (const [address, value] of Object.entries(without?.set ?? {})) writePlace(graph, address, value);
}
