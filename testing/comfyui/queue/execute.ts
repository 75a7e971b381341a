import { factOf } from "../graph/describe-class.ts";
import { Interrupted, NodeFailure, SessionEnded } from "../nodes/node-error.ts";
import type { Comfy } from "../server/comfy.ts";
import type { CachedNode, QueueItem, Session } from "../server/session.ts";
import { describeFailure } from "./describe-failure.ts";
import { executeNode, tellOutput } from "./execute-node.ts";
import { pickOrder } from "./order.ts";
import type { Run } from "./run.ts";
import { orderNodes, signGraph } from "./sign-graph.ts";
import { tellAndKeep, tellProgress } from "./tell.ts";

export type Ending = "finished" | "failed" | "interrupted";

/** Executes a prompt from its start event to its success or failure; throws SessionEnded only. */
export async function executePrompt(comfy: Comfy, session: Session, item: QueueItem) {
  const order = orderNodes(item.graph, item.outputs);
  const signatures = signGraph(comfy, item.graph, orderNodes(item.graph, Object.keys(item.graph)));
  forgetLetters(session, item);
  const faults = comfy.faults.takeForRun();
  const kept = { executed: [], progress: {}, messages: [], outputs: {}, meta: {} };
  const run: Run = { comfy, session, item, order, signatures, faults, ...kept };
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
