import { isObject, type JsonObject } from "../json.ts";
import type { Comfy } from "../server/comfy.ts";
import type { NodeError } from "./values.ts";
import { factOf } from "./describe-class.ts";
import { asNode, type Graph, type GraphNode } from "./graph.ts";
import { describeRaised, validateNode, type Checking } from "./validate.ts";

export interface NodeErrors {
  readonly errors: readonly NodeError[];
  readonly dependent_outputs: string[];
  readonly class_type: string;
}

/** A graph that passed with its good outputs, or the error of the answer. */
export interface Validation {
  readonly error: NodeError | null;
  readonly graph: Graph;
  readonly outputs: readonly string[];
  readonly nodeErrors: Record<string, NodeErrors>;
}

/** Validates like the real server: the error shapes are those of the recording. */
export function validateGraph(comfy: Comfy, raw: JsonObject, targets: readonly string[] | null): Validation {
  const nodes: Record<string, GraphNode> = {};
  const outputs: string[] = [];
  const bare = new Set<string>();
  for (const [nodeId, value] of Object.entries(raw)) {
    const node = asNode(value);
    const fact = node && factOf(comfy, node.class_type);
    if (!node || !fact) return refuse(classError(comfy, nodeId, node));
    nodes[nodeId] = node;
    if (isObject(value) && !("inputs" in value)) bare.add(nodeId);
    if (fact.output_node && (targets === null || targets.includes(nodeId))) outputs.push(nodeId);
  }
  if (outputs.length === 0) return refuse(plainError("prompt_no_outputs", "Prompt has no outputs"));
  return validateOutputs({ comfy, graph: nodes, bare, checked: new Map(), open: new Set() }, outputs);
}

function validateOutputs(checking: Checking, outputs: readonly string[]): Validation {
  const nodeErrors: Record<string, NodeErrors> = {};
  const good: string[] = [];
  for (const output of outputs) {
    if (isOutputValid(checking, output)) {
      good.push(output);
      continue;
    }
    for (const [nodeId, check] of checking.checked) {
      if (check.errors.length === 0) continue;
      const classType = checking.graph[nodeId]?.class_type ?? "";
      const entry = (nodeErrors[nodeId] ??= {
        errors: check.errors,
        dependent_outputs: [],
        class_type: classType,
      });
      entry.dependent_outputs.push(output);
    }
  }
  const own = outputs.flatMap((output) => checking.checked.get(output)?.errors ?? []);
  const failed = {
    ...plainError("prompt_outputs_failed_validation", "Prompt outputs failed validation"),
    details: own.map(({ message, details }) => `${message}: ${details}`).join("\n"),
  };
  return { error: good.length > 0 ? null : failed, graph: checking.graph, outputs: good, nodeErrors };
}

function isOutputValid(checking: Checking, output: string): boolean {
  checking.open.clear();
  try {
    return validateNode(checking, output).isValid;
  } catch (error) {
    const { exception_message: details, ...extra } = describeRaised(error);
    const message = "Exception when validating node";
    const found = { type: "exception_during_validation", message, details, extra_info: extra };
    checking.checked.set(output, { isValid: false, errors: [found] });
    return false;
  }
}

function classError(comfy: Comfy, nodeId: string, node: GraphNode | null): NodeError {
  const details = `Node ID '#${nodeId}'`;
  if (!node) {
    const message = "Cannot execute because a node is missing the class_type property.";
    return { type: "invalid_prompt", message, details, extra_info: {} };
  }
  const name = node.class_type;
  if (comfy.options.mode === "0.8.0") {
    const message = `Cannot execute because node ${name} does not exist.`;
    return { type: "invalid_prompt", message, details, extra_info: {} };
  }
  const message = `Node '${name}' not found. The custom node may not be installed.`;
  const extra = { node_id: nodeId, class_type: name, node_title: name };
  return { type: "missing_node_type", message, details, extra_info: extra };
}

function plainError(type: string, message: string): NodeError {
  return { type, message, details: "", extra_info: {} };
}

function refuse(error: NodeError): Validation {
  return { error, graph: {}, outputs: [], nodeErrors: {} };
}
