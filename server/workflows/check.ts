import { findChoiceProblem, findTypeProblem } from "./check-literal.ts";
import { isLink, type Graph, type Link } from "./graph.ts";
import { findInput, type InputFacts, type ObjectInfo, type ObjectInfoByClass } from "./object-info.ts";

interface Visit {
  readonly graph: Graph;
  readonly objectInfo: ObjectInfoByClass;
  readonly nodeId: string;
}

/** As ComfyUI compares types: `*` fits all, a comma separates alternatives. A list as type is not compared. */
function isFit(given: unknown, wanted: string): boolean {
  if (typeof given !== "string" || given === "*" || wanted === "*") return true;
  const wantedTypes = wanted.split(",");
  return given.split(",").some((type) => wantedTypes.includes(type));
}

function checkLink({ graph, objectInfo }: Visit, [sourceId, output]: Link, wanted: string): string | null {
  const source = graph[sourceId];
  if (!source) return `is linked to node ${sourceId}, which is not there`;
  const outputs = objectInfo.get(source.class_type)?.output;
  if (!outputs) return null;
  if (output >= outputs.length)
    return `is linked to output ${output} of ${source.class_type}, which has none`;
  const given = outputs[output];
  return isFit(given, wanted) ? null : `takes ${wanted}, but is linked to ${String(given)}`;
}

function checkValue(visit: Visit, facts: InputFacts, value: unknown): string | null {
  if (isLink(value)) return checkLink(visit, value, facts.type);
  return facts.choices ? findChoiceProblem(facts, value) : findTypeProblem(facts, value);
}

function checkNode(visit: Visit, info: ObjectInfo): string[] {
  const node = visit.graph[visit.nodeId];
  const missing = Object.keys(info.input?.required ?? {}).filter(
    (input) => node?.inputs[input] === undefined,
  );
  const wrong = Object.entries(node?.inputs ?? {}).flatMap(([input, value]) => {
    const facts = findInput(info, input);
    const problem = facts && checkValue(visit, facts, value);
    return problem ? [`${input} ${problem}`] : [];
  });
  return [...missing.map((input) => `the required input ${input} is missing`), ...wrong];
}

/** Everything for which a server with these node classes would refuse the graph, one line each. */
export function checkGraph(graph: Graph, objectInfo: ObjectInfoByClass): string[] {
  const problems = Object.entries(graph).flatMap(([nodeId, node]) => {
    const info = objectInfo.get(node.class_type);
    if (!info) return [`node ${nodeId}: the server has no class ${node.class_type}`];
    return checkNode({ graph, objectInfo, nodeId }, info).map(
      (problem) => `node ${nodeId} (${node.class_type}): ${problem}`,
    );
  });
  const hasOutput = Object.values(graph).some((node) => objectInfo.get(node.class_type)?.output_node);
  return hasOutput ? problems : [...problems, "no node of the graph is an output"];
}
