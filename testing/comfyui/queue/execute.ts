import { setImmediate as yieldOnce } from "node:timers/promises";
import { factOf, type GraphNode, isLink, outputTypes, pythonText } from "../graph/classes.ts";
import {
  Interrupted,
  type NodeCall,
  NodeFailure,
  type NodeResult,
  readInputs,
  SessionEnded,
  type Value,
} from "../nodes/call.ts";
import { runners } from "../nodes/runners.ts";
import type { JsonObject } from "../options.ts";
import type { CachedNode, Comfy, QueueItem, Session } from "../server/session.ts";
import { orderNodes, pickOrder, signGraph } from "./order.ts";
import { type Run, tell, tellAndKeep, tellProgress, tellStep, tellText } from "./run.ts";
import { sleepInSession, strikeAtStep, strikeFaults } from "./strike-faults.ts";

/** Executes one node and tells of it; throws what ends the prompt. */
async function executeNode(run: Run, nodeId: string, results: Map<string, CachedNode>): Promise<CachedNode> {
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
function tellOutput(run: Run, nodeId: string, ui: JsonObject): void {
  const isExpanded = run.comfy.faults.take("expanded-output") !== null;
  const ownId = isExpanded ? `${nodeId}.0.0.1` : nodeId;
  const parent = isExpanded ? nodeId : null;
  run.outputs[ownId] = ui;
  run.meta[ownId] = { node_id: ownId, display_node: nodeId, parent_node: parent, real_node_id: nodeId };
  tell(run, "executed", { node: ownId, display_node: nodeId, output: ui });
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

const traceback = [
  '  File "/opt/comfyui/execution.py", line 518, in execute\n    output_data, output_ui, has_subgraph, has_pending_tasks = await get_output_data(prompt_id, unique_id, obj)\n',
  '  File "/opt/comfyui/execution.py", line 291, in process_inputs\n    result = f(**inputs)\n             ^^^^^^^^^^^\n',
];

/** Classes that are given the whole prompt, so as to write it into the file. */
const savers: readonly string[] = ["SaveImage", "PreviewImage"];

function hiddenInputs({ item }: Run): JsonObject {
  return { prompt: [pythonText(item.graph)], extra_pnginfo: [item.extraData.extra_pnginfo ?? null] };
}

/** The rest of `execution_error`: what Python would tell, paths and prompt included. */
function describeFailure(run: Run, nodeId: string, failure: NodeFailure): JsonObject {
  const inputs = Object.entries(run.item.graph[nodeId]?.inputs ?? {});
  return {
    // The real server ends every message so.
    exception_message: `${failure.message}\n`,
    exception_type: failure.exceptionType,
    traceback,
    current_inputs: {
      ...Object.fromEntries(
        inputs.map(([name, value]) => [name, [isLink(value) ? "tensor([[[[0.5]]]])" : value]]),
      ),
      ...(savers.includes(run.item.graph[nodeId]?.class_type ?? "") ? hiddenInputs(run) : {}),
    },
    current_outputs: run.order.toReversed(),
  };
}

export type Ending = "finished" | "failed" | "interrupted";

/** Executes a prompt from its start event to its success or failure; throws SessionEnded only. */
export async function executePrompt(comfy: Comfy, session: Session, item: QueueItem) {
  const order = orderNodes(item.graph, item.outputs);
  const signatures = signGraph(comfy, item.graph, orderNodes(item.graph, Object.keys(item.graph)));
  forgetLetters(session, item);
  const faults = comfy.faults.takeForRun();
  const kept = { executed: [], progress: {}, messages: [], outputs: {}, meta: {} };
  const run: Run = {
    comfy,
    session,
    item,
    order,
    signatures,
    faults,
    releasesBefore: comfy.releases,
    ...kept,
  };
  const ending = await executeNodes(run);
  return { run, ending };
}

async function executeNodes(run: Run): Promise<Ending> {
  const { session, signatures } = run;
  const results = new Map<string, CachedNode>();
  for (const [nodeId, signature] of signatures) {
    const cached = session.cache.get(signature);
    if (cached) results.set(nodeId, cached);
  }
  tellAndKeep(run, "execution_start", {});
  const cachedIds = Object.keys(run.item.graph).filter((nodeId) => results.has(nodeId));
  tellAndKeep(run, "execution_cached", { nodes: cachedIds });
  try {
    for (const nodeId of pickNodes(run, new Set(results.keys()))) await executeOrRepeat(run, nodeId, results);
    tellAndKeep(run, "execution_success", {});
    return "finished";
  } catch (error) {
    if (error instanceof SessionEnded) throw error;
    return tellFailure(run, error);
  } finally {
    const used = [...signatures].flatMap(([nodeId, signature]) => {
      const result = results.get(nodeId);
      return result ? [[signature, result] as const] : [];
    });
    session.cache = new Map(used);
  }
}

/** Outputs always, other nodes only where something fresh needs them. */
function pickNodes({ comfy, item }: Run, cached: ReadonlySet<string>): string[] {
  const isOutput = (nodeId: string) => {
    const fact = factOf(comfy, item.graph[nodeId]?.class_type ?? "");
    return fact?.output_node === true;
  };
  const isCached = (nodeId: string) => cached.has(nodeId);
  return pickOrder({ graph: item.graph, outputs: item.outputs, isOutput, isCached });
}

/** A node keeps the letters of its temp files as long as the prompts have it. */
function forgetLetters({ tempLetters }: Session, { graph }: QueueItem): void {
  for (const [nodeId, { classType }] of tempLetters) {
    if (graph[nodeId]?.class_type !== classType) tempLetters.delete(nodeId);
  }
}

async function executeOrRepeat(run: Run, nodeId: string, results: Map<string, CachedNode>): Promise<void> {
  const cached = results.get(nodeId);
  if (!cached) {
    results.set(nodeId, await executeNode(run, nodeId, results));
    return;
  }
  if (cached.ui) tellOutput(run, nodeId, cached.ui);
  tellProgress(run, nodeId, { value: 1, max: 1, state: "finished" });
}

function tellFailure(run: Run, error: unknown): Ending {
  const nodeId = run.session.currentNode ?? "";
  const where = {
    node_id: nodeId,
    node_type: run.item.graph[nodeId]?.class_type ?? "",
    executed: run.executed,
  };
  if (error instanceof Interrupted) {
    tellAndKeep(run, "execution_interrupted", where);
    return "interrupted";
  }
  const failure = error instanceof NodeFailure ? error : asFailure(error);
  tellAndKeep(run, "execution_error", { ...where, ...describeFailure(run, nodeId, failure) });
  return "failed";
}

function asFailure(error: unknown): NodeFailure {
  const isType = error instanceof TypeError;
  return new NodeFailure(
    isType ? "TypeError" : "RuntimeError",
    error instanceof Error ? error.message : String(error),
  );
}
