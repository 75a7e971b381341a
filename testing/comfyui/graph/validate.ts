import type { Comfy } from "../server/comfy.ts";
import { checkValue, type NodeError } from "./values.ts";
import { factOf } from "./describe-class.ts";
import { isLink, type Graph, type GraphNode } from "./graph.ts";
import { inputConfig } from "./input-config.ts";
import { PythonError, pythonType, represent } from "./python-text.ts";
import { outputTypes, type InputFact, type NodeFact } from "./classes.ts";

export interface NodeCheck {
  readonly isValid: boolean;
  readonly errors: readonly NodeError[];
}

/** One validation of a graph: the results so far, and the nodes being looked at. */
export interface Checking {
  readonly comfy: Comfy;
  readonly graph: Graph;
  /** Nodes without inputs at all, on which the real server stumbles. */
  readonly bare: ReadonlySet<string>;
  readonly checked: Map<string, NodeCheck>;
  readonly open: Set<string>;
}

/** Checks a node and all that leads to it; throws what the real server would raise. */
export function validateNode(checking: Checking, nodeId: string): NodeCheck {
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
  for (const [name, inputFact] of Object.entries(fact.inputs)) {
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
export function describeRaised(error: unknown) {
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
