import { randomUUID } from "node:crypto";
import { hashOf } from "../files.ts";
import { type Graph, type GraphNode, isLink } from "../graph/classes.ts";
import type { Comfy } from "../server/session.ts";

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

export interface Picking {
  readonly graph: Graph;
  /** The outputs that are wanted. */
  readonly outputs: readonly string[];
  /** Whether the node's class shows something. */
  readonly isOutput: (nodeId: string) => boolean;
  readonly isCached: (nodeId: string) => boolean;
}

/**
 * The nodes to execute, in the order of the real server: of those that are ready, an output first, then one that is one
 * or two steps before an output, else the one that was found first on the way back from the outputs.
 */
export function pickOrder(picking: Picking): string[] {
  const waiting = new Set(findNodes(picking));
  const leadsTo = new Map([...waiting].map((nodeId) => [nodeId, [] as string[]]));
  for (const nodeId of waiting)
    for (const from of sourcesOf(picking, nodeId)) leadsTo.get(from)?.push(nodeId);
  const next = (nodeId: string) => leadsTo.get(nodeId) ?? [];
  const order: string[] = [];
  while (waiting.size > 0) {
    const ready = [...waiting].filter(
      (nodeId) => !sourcesOf(picking, nodeId).some((from) => waiting.has(from)),
    );
    const [first] = ready;
    if (first === undefined) throw new RangeError("the graph goes round in circles");
    const picked =
      ready.find((nodeId) => picking.isOutput(nodeId)) ??
      ready.find((nodeId) => next(nodeId).some(picking.isOutput)) ??
      ready.find((nodeId) => next(nodeId).flatMap(next).some(picking.isOutput)) ??
      first;
    waiting.delete(picked);
    order.push(picked);
  }
  return order;
}

/** From the outputs backwards, the last input of each node first. */
function findNodes(picking: Picking): string[] {
  const found = new Set<string>();
  for (const output of picking.outputs) {
    const stack = [output];
    for (let nodeId = stack.pop(); nodeId !== undefined; nodeId = stack.pop()) {
      if (found.has(nodeId)) continue;
      found.add(nodeId);
      stack.push(...sourcesOf(picking, nodeId));
    }
  }
  return [...found];
}

/** What the node waits for: nothing that is cached, and nothing at all when it is cached itself. */
function sourcesOf({ graph, isCached }: Picking, nodeId: string): string[] {
  if (isCached(nodeId)) return [];
  const links = Object.values(graph[nodeId]?.inputs ?? {}).filter(isLink);
  return links.map(([from]) => from).filter((from) => !isCached(from));
}
