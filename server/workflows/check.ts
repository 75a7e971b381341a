import { applyWithout } from "./build-graph.ts";
import {
  below,
  choiceOf,
  chosenOf,
  findInput,
  growsFrom,
  type InputFacts,
  type InputSpecs,
  type ObjectInfo,
  type ObjectInfoByClass,
} from "./inputs.ts";
import { listedPlaces } from "./listed.ts";
import { findModel, isModelFile } from "./models.ts";
import { type Graph, isLink, type Link, type ParamSpec, type Workflow, writeGraphInput } from "./workflow.ts";

const shownChoices = 5;

/** Whether a value is in the list; uploaded files come and go, so they are not checked. */
function findChoiceProblem({ choices, isUpload }: InputFacts, value: unknown): string | null {
  if (!choices || isUpload || chosenOf(value).every((one) => choices.includes(one))) return null;
  // Nodes whose choices the user writes list none; one for models lists none where there are none.
  if (choices.length === 0 && !isModelFile(value)) return null;
  const found = findModel(String(value), choices);
  if (found && "choice" in found) return null;
  if (found) return `is ${JSON.stringify(value)}, which may be any of ${found.several.join(", ")}`;
  if (choices.length === 0) return `is ${JSON.stringify(value)}, but the server has nothing to choose from`;
  const shown = choices.slice(0, shownChoices).join(", ");
  const rest = choices.length > shownChoices ? ` and ${choices.length - shownChoices} more` : "";
  return `is ${JSON.stringify(value)}, which is none of ${shown}${rest}`;
}

function findRangeProblem({ min, max }: InputFacts, value: number): string | null {
  if (min !== null && value < min) return `is ${value}, below the least ${min}`;
  if (max !== null && value > max) return `is ${value}, above the most ${max}`;
  return null;
}

/** Types of values that only another node can produce. Types of custom nodes are unknown and not checked. */
const linkedTypes = ["IMAGE", "MASK", "LATENT", "MODEL", "CLIP", "VAE", "CONDITIONING"];

/** The problem of a literal with the type of an input that has no list of choices; null when it fits. */
function findTypeProblem(facts: InputFacts, value: unknown): string | null {
  if (linkedTypes.includes(facts.type)) return `takes ${facts.type} and must be linked`;
  if (facts.type === "STRING") return typeof value === "object" ? "is no text" : null;
  if (facts.type !== "INT" && facts.type !== "FLOAT") return null;
  if (typeof value === "boolean" || !Number.isFinite(Number(value))) return "is no number";
  return findRangeProblem(facts, Number(value));
}

interface Visit {
  readonly graph: Graph;
  readonly objectInfo: ObjectInfoByClass;
  readonly nodeId: string;
}

/** Fits all: the second one stands for the type of whatever is linked, to which only the page of ComfyUI sees. */
const anyTypes: readonly string[] = ["*", "COMFY_MATCHTYPE_V3"];

/** As ComfyUI compares types: a comma separates alternatives. A list as type is not compared. */
function isFit(given: unknown, wanted: string): boolean {
  if (typeof given !== "string") return true;
  const [givenTypes = [], wantedTypes = []] = [given, wanted].map((types) =>
    types.split(",").map((type) => type.trim()),
  );
  const isAny = [...givenTypes, ...wantedTypes].some((type) => anyTypes.includes(type));
  return isAny || givenTypes.some((type) => wantedTypes.includes(type));
}

function checkLink({ graph, objectInfo }: Visit, [sourceId, output]: Link, wanted: string): string | null {
  const source = graph[sourceId];
  if (!source) return `is linked to node ${sourceId}, which is not there`;
  const outputs = objectInfo.get(source.class_type)?.output;
  if (!outputs) return null;
  // Nodes with any number of outputs list the last one alone.
  const isBehind = output >= outputs.length;
  if (isBehind && outputs.at(-1) !== "*")
    return `is linked to output ${output} of ${source.class_type}, which has none`;
  const given = isBehind ? "*" : outputs[output];
  return isFit(given, wanted) ? null : `takes ${wanted}, but is linked to ${String(given)}`;
}

function checkValue(visit: Visit, facts: InputFacts, value: unknown): string | null {
  if (isLink(value)) return checkLink(visit, value, facts.type);
  return facts.choices ? findChoiceProblem(facts, value) : findTypeProblem(facts, value);
}

/** Required inputs without a value, those below others included. */
function findLacking(
  { required, optional }: InputSpecs,
  values: Graph[string]["inputs"],
  under = "",
): string[] {
  const needed = Object.entries(required ?? {});
  const lacking = needed
    .filter(([input, spec]) => values[under + input] === undefined && !growsFrom(spec))
    .map(([input]) => under + input);
  const inBranches = [...needed, ...Object.entries(optional ?? {})].flatMap(([input, spec]) =>
    below(spec, choiceOf(values[under + input])).flatMap((specs) =>
      findLacking(specs, values, `${under}${input}.`),
    ),
  );
  return [...lacking, ...inBranches];
}

function checkNode(visit: Visit, info: ObjectInfo): string[] {
  const node = visit.graph[visit.nodeId];
  const values = node?.inputs ?? {};
  const missing = findLacking(info.input ?? {}, values);
  const wrong = Object.entries(values).flatMap(([input, value]) => {
    const facts = findInput(info, input, values);
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

type Limit = "min" | "max";

type Numeric = Extract<ParamSpec, { type: "integer" | "number" | "seed" }>;

const isNumeric = (spec: ParamSpec): spec is Numeric =>
  spec.type === "integer" || spec.type === "number" || spec.type === "seed";

function limitOf(spec: Numeric, limit: Limit): number | undefined {
  // A seed without limits is folded into the range of the node.
  if (spec.type === "seed") return spec[limit];
  return spec.choices ? Math[limit](...Object.values(spec.choices)) : (spec[limit] ?? spec.default);
}

function atLimits({ graph, params }: Workflow, limit: Limit): Graph {
  const copy = structuredClone(graph);
  for (const spec of Object.values(params)) {
    if (!isNumeric(spec)) continue;
    const value = limitOf(spec, limit);
    if (value !== undefined) for (const address of spec.to) writeGraphInput(copy, address, value);
  }
  return copy;
}

function withoutOptional({ graph, inputs }: Workflow): Graph[] {
  const optional = Object.values(inputs).filter(({ required }) => !required);
  return optional.map(({ without }) => {
    const copy = structuredClone(graph);
    applyWithout(copy, without);
    return copy;
  });
}

/** With what a job must choose: the first that the server lists. */
function withListed(graph: Graph, workflow: Workflow, objectInfo: ObjectInfoByClass): Graph {
  const copy = structuredClone(graph);
  for (const { name, class: nodeClass, input, isRequired } of listedPlaces(workflow)) {
    const info = objectInfo.get(nodeClass);
    const [first] = (info && findInput(info, input, null)?.choices) ?? [];
    if (!isRequired || first === undefined) continue;
    for (const address of workflow.params[name]?.to ?? []) writeGraphInput(copy, address, first);
  }
  return copy;
}

/** All reasons for which a server would refuse a job of the workflow: as it is, without each optional picture, at the limits of its numbers. */
export function checkWorkflow(workflow: Workflow, objectInfo: ObjectInfoByClass): string[] {
  const graphs = [
    workflow.graph,
    ...withoutOptional(workflow),
    atLimits(workflow, "min"),
    atLimits(workflow, "max"),
  ];
  const filled = graphs.map((graph) => withListed(graph, workflow, objectInfo));
  return [...new Set(filled.flatMap((graph) => checkGraph(graph, objectInfo)))];
}
