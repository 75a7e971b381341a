import { randomUUID } from "node:crypto";
import { hashOf } from "../files.ts";
import { isLink, type Graph, type GraphNode } from "../graph/graph.ts";
import type { Comfy } from "../server/comfy.ts";

/** The nodes that lead to the outputs, each behind those it needs. */
export function orderNodes(graph: Graph, outputs: readonly string[]): string[] {
  const order: string[] = [];
  const seen = new Set<string>();
  const visit = (nodeId: string) => {
    const node = graph[nodeId];
    if (!node || seen.has(nodeId)) return;
    seen.add(nodeId);
    for (const value of Object.values(node.inputs)) if (isLink(value)) visit(value[0]);
    order.push(nodeId);
  };
  for (const output of outputs) visit(output);
  return order;
}

/** A hash per node of its class, its literals, the files it reads and all that is linked to it. */
export function signGraph(comfy: Comfy, graph: Graph, order: readonly string[]): Map<string, string> {
  const signatures = new Map<string, string>();
  for (const nodeId of order) {
    const node = graph[nodeId];
    if (!node) continue;
    const inputs = Object.entries(node.inputs).map(([name, value]) => [
      name,
      isLink(value) ? { from: signatures.get(value[0]), slot: value[1] } : value,
    ]);
    // What goes over the socket is sent anew each time.
    const change = node.class_type === "SaveImageWebsocket" ? randomUUID() : fileHash(comfy, node);
    signatures.set(nodeId, hashOf(JSON.stringify([node.class_type, inputs, change])));
  }
  return signatures;
}

function fileHash(comfy: Comfy, node: GraphNode): string | null {
  const name = node.class_type.startsWith("LoadImage") ? node.inputs.image : null;
  const file = typeof name === "string" ? comfy.files.findAnnotated(name) : null;
  const bytes = file && comfy.files.read(file);
  return bytes && hashOf(bytes);
}
