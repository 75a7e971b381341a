import { isObject, type JsonObject } from "../options.ts";
import type { Comfy } from "../server/session.ts";
import {
  asNode,
  factOf,
  type Graph,
  type GraphNode,
  inputConfig,
  type InputFact,
  isLink,
  type NodeFact,
  outputTypes,
  PythonError,
  pythonType,
  represent,
} from "./classes.ts";
import { checkValue, type NodeError } from "./values.ts";

interface NodeCheck {
  readonly isValid: boolean;
  readonly errors: readonly NodeError[];
}

/** One validation of a graph: the results so far, and the nodes being looked at. */
interface Checking {
  readonly comfy: Comfy;
  readonly graph: Graph;
  /** Nodes without inputs at all, on which the real server stumbles. */
  readonly bare: ReadonlySet<string>;
  readonly checked: Map<string, NodeCheck>;
  readonly open: Set<string>;
}

/** Checks a node and all that leads to it; throws what the real server would raise. */
function validateNode(checking: Checking, nodeId: string): NodeCheck {
  const known = checking.checked.get(nodeId);
  if (known) return known;
  if (checking.open.has(nodeId)) throw new RangeError("maximum recursion depth exceeded");
  const node = checking.graph[nodeId];
  const fact = node && factOf(checking.comfy, node.class_type);
  if (!node || !fact) throw new PythonError("KeyError", represent(nodeId));
  if (checking.bare.has(nodeId)) throw new PythonError("KeyError", "'inputs'");
  checking.open.add(nodeId);
  const errors: NodeError[] = [];
  let isValid = true;
  for (const [name, inputFact] of inputsOf(fact, node)) {
    const found = checkInput(checking, { node, name, fact: inputFact });
    if (found === "upstream") isValid = false;
    else if (found) errors.push(found);
  }
  const own = checkFile(checking.comfy, node, fact);
  if (own) errors.push(own);
  checking.open.delete(nodeId);
  const check = { isValid: isValid && errors.length === 0, errors };
  checking.checked.set(nodeId, check);
  return check;
}

/** The inputs of a class; those that grow as the node has them. */
function inputsOf({ inputs }: NodeFact, node: GraphNode): (readonly [string, InputFact])[] {
  return Object.entries(inputs).flatMap(([name, fact]) => {
    if (fact.grows === undefined) return [[name, fact] as const];
    const grown = Object.keys(node.inputs).filter((given) => given.startsWith(`${name}.`));
    return grown.map((given) => [given, { type: fact.grows ?? "*" }] as const);
  });
}

interface Input {
  readonly node: GraphNode;
  readonly name: string;
  readonly fact: InputFact;
}

function checkInput(checking: Checking, input: Input): NodeError | "upstream" | null {
  const { node, name, fact } = input;
  const received = node.inputs[name];
  if (received === undefined) return fact.optional ? null : missingInput(name);
  if (Array.isArray(received)) return checkLink(checking, input, received);
  const hasOwnCheck = fact.choices === "files of input";
  const result = checkValue(checking.comfy, { name, fact, hasOwnCheck }, received);
  if ("error" in result) return result.error;
  node.inputs[name] = result.value;
  return null;
}

function missingInput(name: string): NodeError {
  const message = "Required input is missing";
  return { type: "required_input_missing", message, details: name, extra_info: { input_name: name } };
}

function checkLink(checking: Checking, input: Input, link: unknown[]): NodeError | "upstream" | null {
  const config = inputConfig(checking.comfy, input.fact);
  const named = { input_name: input.name, input_config: config };
  if (link.length !== 2) {
    const message = "Bad linked input, must be a length-2 list of [node_id, slot_index]";
    const extra = { ...named, received_value: link };
    return { type: "bad_linked_input", message, details: input.name, extra_info: extra };
  }
  const [sourceId, slot]: unknown[] = link;
  const source = typeof sourceId === "string" ? checking.graph[sourceId] : undefined;
  const sourceFact = source && factOf(checking.comfy, source.class_type);
  if (typeof sourceId !== "string" || !sourceFact) throw new PythonError("KeyError", represent(sourceId));
  const receivedType = slotOf(outputTypes(sourceFact), slot);
  if (!doTypesMatch(receivedType, input.fact.type)) {
    const details = `${input.name}, received_type(${receivedType}) mismatch input_type(${input.fact.type})`;
    const extra = { ...named, received_type: receivedType, linked_node: link };
    const message = "Return type mismatch between linked nodes";
    return { type: "return_type_mismatch", message, details, extra_info: extra };
  }
  return followLink(checking, sourceId, { ...named, linked_node: link });
}

/** A tuple's member; Python counts negative places from the end. */
function slotOf(types: readonly string[], slot: unknown): string {
  if (typeof slot !== "number") {
    throw new PythonError("TypeError", `tuple indices must be integers or slices, not ${pythonType(slot)}`);
  }
  const type = types.at(slot);
  if (type === undefined) throw new PythonError("IndexError", "tuple index out of range");
  return type;
}

function followLink(checking: Checking, nodeId: string, extra: Record<string, unknown>): "upstream" | null {
  try {
    return validateNode(checking, nodeId).isValid ? null : "upstream";
  } catch (error) {
    checking.checked.set(nodeId, { isValid: false, errors: [innerException(error, extra)] });
    return "upstream";
  }
}

function innerException(error: unknown, extra: Record<string, unknown>): NodeError {
  const raised = describeRaised(error);
  const message = "Exception when validating inner node";
  const extraInfo = { ...extra, ...raised };
  return {
    type: "exception_during_inner_validation",
    message,
    details: raised.exception_message,
    extra_info: extraInfo,
  };
}

/** The Python side of an exception. */
function describeRaised(error: unknown) {
  const exceptionType = error instanceof PythonError ? error.type : "RecursionError";
  const text = error instanceof Error ? error.message : String(error);
  const traceback = ['  File "/opt/comfyui/execution.py", line 838, in validate_inputs\n'];
  return { exception_message: text, exception_type: exceptionType, traceback };
}

function doTypesMatch(received: string, wanted: string): boolean {
  return received === wanted || received === "*" || wanted === "*";
}

function checkFile(comfy: Comfy, node: GraphNode, fact: NodeFact): NodeError | null {
  for (const [name, input] of Object.entries(fact.inputs)) {
    const file = node.inputs[name];
    if (input.choices !== "files of input" || file === undefined || isLink(file)) continue;
    if (typeof file !== "string") {
      throw new PythonError("AttributeError", `'${pythonType(file)}' object has no attribute 'endswith'`);
    }
    // The empty name is the input folder itself, which is there.
    if (file === "" || comfy.files.findAnnotated(file)) continue;
    const details = `${name} - Invalid image file: ${file}`;
    const message = "Custom validation failed for node";
    return { type: "custom_validation_failed", message, details, extra_info: { input_name: name } };
  }
  return null;
}

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
