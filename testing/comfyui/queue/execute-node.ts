import { setImmediate as yieldOnce } from "node:timers/promises";
import { factOf } from "../graph/describe-class.ts";
import { isLink, type GraphNode } from "../graph/graph.ts";
import { outputTypes } from "../graph/classes.ts";
import type { JsonObject } from "../json.ts";
import { Interrupted, NodeFailure, SessionEnded } from "../nodes/node-error.ts";
import type { NodeCall, NodeResult } from "../nodes/node-call.ts";
import { readInputs } from "../nodes/call.ts";
import { runners } from "../nodes/runners.ts";
import type { Value } from "../nodes/value.ts";
import type { CachedNode } from "../server/session.ts";
import type { Run } from "./run.ts";
import { sleepInSession, strikeAtStep, strikeFaults } from "./strike-faults.ts";
import { tell, tellProgress, tellStep, tellText } from "./tell.ts";

/** Executes one node and tells of it; throws what ends the prompt. */
export async function executeNode(
  run: Run,
  nodeId: string,
  results: Map<string, CachedNode>,
): Promise<CachedNode> {
  const node = run.item.graph[nodeId];
  if (!node) throw new Error(`node ${nodeId} is not in the graph`);
  tellProgress(run, nodeId, { value: 0, max: 1, state: "running" });
  run.session.currentNode = nodeId;
  tell(run, "executing", { node: nodeId, display_node: nodeId });
  checkInterrupt(run);
  await strikeFaults(run, nodeId);
  const call = makeCall(run, nodeId, readInputs(node.inputs, linkedValues(node, results)));
  const { values, ui = null } = await work(run, node, call);
  await yieldOnce();
  if (run.session.end.signal.aborted) throw new SessionEnded();
  if (ui) tellOutput(run, nodeId, ui);
  const last = run.progress[nodeId];
  const max = typeof last?.max === "number" ? last.max : 1;
  tellProgress(run, nodeId, { value: max, max, state: "finished" });
  run.executed.unshift(nodeId);
  return { values, ui };
}

/** Shows an output, fresh or cached, and keeps it for the history. */
export function tellOutput(run: Run, nodeId: string, ui: JsonObject): void {
  run.outputs[nodeId] = ui;
  run.meta[nodeId] = { node_id: nodeId, display_node: nodeId, parent_node: null, real_node_id: nodeId };
  tell(run, "executed", { node: nodeId, display_node: nodeId, output: ui });
}

function checkInterrupt({ item, session }: Run): void {
  if (session.end.signal.aborted) throw new SessionEnded();
  if (item.interrupt.signal.aborted) throw new Interrupted();
}

async function work(run: Run, node: GraphNode, call: NodeCall): Promise<NodeResult> {
  const runner = runners.get(node.class_type);
  if (runner) return runner(call);
  const fact = factOf(run.comfy, node.class_type);
  const types = fact ? outputTypes(fact) : [];
  // Nobody shall take a class for simulated whose pictures are missing.
  if (fact?.output_node || types.some((type) => pictureTypes.includes(type))) {
    throw new NodeFailure("NotImplementedError", `${node.class_type} is not simulated`);
  }
  return { values: types.map((type) => ({ kind: "opaque", type })) };
}

const pictureTypes = ["IMAGE", "MASK", "LATENT"];

function makeCall(run: Run, nodeId: string, inputs: NodeCall["inputs"]): NodeCall {
  const { comfy, item } = run;
  const wanted = item.extraData.preview_method;
  const method = typeof wanted === "string" && wanted !== "default" ? wanted : comfy.options.previews;
  return {
    comfy,
    item,
    nodeId,
    classType: item.graph[nodeId]?.class_type ?? "",
    signature: run.signatures.get(nodeId) ?? "",
    inputs,
    arePreviewsOn: method !== "none",
    step: () => (comfy.options.stepMs > 0 ? sleepInSession(run, comfy.options.stepMs) : yieldOnce()),
    say: (text) => tellText(run, nodeId, text),
    progress: async (value, max, preview) => {
      checkInterrupt(run);
      tellStep(run, nodeId, { value, max, preview });
      strikeAtStep(run, nodeId, value / max);
    },
  };
}

function linkedValues(node: GraphNode, results: ReadonlyMap<string, CachedNode>): Map<string, Value> {
  const values = new Map<string, Value>();
  for (const [name, link] of Object.entries(node.inputs)) {
    const value = isLink(link) ? results.get(link[0])?.values.at(link[1]) : undefined;
    if (value) values.set(name, value);
  }
  return values;
}
