import { applyWithout } from "./build-graph.ts";
import { findModel, isModelFile } from "./models.ts";
import { type Graph, isLink, type Link, type ParamSpec, type Workflow, writeGraphInput } from "./workflow.ts";

/** A server's description of one node class (`/object_info/<class>`): the fields that are read here. */
export interface ObjectInfo {
  readonly input?: {
    readonly required?: Readonly<Record<string, unknown>>;
    readonly optional?: Readonly<Record<string, unknown>>;
  };
  readonly output?: readonly unknown[];
  readonly output_node?: boolean;
}

/** Node classes of a server; null or absent: the server does not have the class. */
export type ObjectInfoByClass = ReadonlyMap<string, ObjectInfo | null>;

/** One input of a node class. */
interface InputFacts {
  readonly type: string;
  /** The accepted values of a list; null when it is no list. */
  readonly choices: readonly string[] | null;
  readonly min: number | null;
  readonly max: number | null;
  /** Whether the choices are uploaded files, which change with every upload. */
  readonly isUpload: boolean;
}

function fieldOf(value: unknown, field: string): unknown {
  return typeof value === "object" && value !== null
    ? Object.entries(value).find(([key]) => key === field)?.[1]
    : undefined;
}

/** Where choices that are objects, such as those of dynamic lists or with a picture beside each, have their value. */
const choiceMembers = ["key", "content", "value", "name", "id", "label"];

/** The value of a choice, or of an input, that is written as itself or as an object. */
function choiceOf(item: unknown): string {
  if (typeof item !== "object" || item === null) return String(item);
  const named = choiceMembers.map((member) => fieldOf(item, member));
  const found = named.find((value) => typeof value === "string" || typeof value === "number");
  return found === undefined ? JSON.stringify(item) : String(found);
}

/** All that is chosen: lists with several choices are written as arrays, by the page of ComfyUI inside of `__value__`. */
function chosenOf(value: unknown): string[] {
  return listOf(fieldOf(value, "__value__") ?? value) ?? [choiceOf(value)];
}

function listOf(value: unknown): string[] | null {
  return Array.isArray(value) ? value.map(choiceOf) : null;
}

function numberOf(value: unknown): number | null {
  return typeof value === "number" ? value : null;
}

/** Types of lists whose choices stand in their options: of newer nodes, with inputs of each choice, and of extensions. */
const isListType = (type: unknown) =>
  typeof type === "string" && /(?:^|_)(?:DYNAMIC)?COMBO(?:_|$)/.test(type);

/** Reads an input's spec: `[[choices], options]` of older nodes, `["COMBO", { options }]` of newer ones, `[TYPE, options]`. */
export function readInputFacts(spec: unknown): InputFacts {
  const [type, options]: unknown[] = Array.isArray(spec) ? spec : [];
  const isList = Array.isArray(type) || isListType(type);
  return {
    type: isList ? "COMBO" : String(type),
    choices: isList ? (listOf(type) ?? listOf(fieldOf(options, "options"))) : null,
    min: numberOf(fieldOf(options, "min")),
    max: numberOf(fieldOf(options, "max")),
    isUpload: fieldOf(options, "image_upload") === true,
  };
}

/** Specs by name; those of a choice of a dynamic list as well. */
interface InputSpecs {
  readonly required?: unknown;
  readonly optional?: unknown;
}

/** The inputs that each choice of a dynamic list brings along, by the choice; named `<list>.<input>` in a graph. */
function branchesOf(spec: unknown): [choice: string, specs: InputSpecs][] {
  const options: unknown = Array.isArray(spec) ? fieldOf(spec[1], "options") : null;
  return (Array.isArray(options) ? options : []).flatMap((option: unknown) => {
    const inputs = fieldOf(option, "inputs");
    return typeof inputs === "object" && inputs !== null ? [[choiceOf(option), inputs]] : [];
  });
}

interface Wanted {
  readonly name: string;
  /** Of the node; null: not known. */
  readonly values: Readonly<Record<string, unknown>> | null;
  readonly under?: string;
}

/** The specs that an input may have: in the chosen branch of a dynamic list, or in each where the values are not known. */
function findSpecs({ required, optional }: InputSpecs, { name, values, under = "" }: Wanted): unknown[] {
  const specOf = (input: string) => fieldOf(required, input) ?? fieldOf(optional, input);
  const own = specOf(name);
  if (own !== undefined) return [own];
  const dot = name.indexOf(".");
  if (dot < 0) return [];
  const list = name.slice(0, dot);
  const chosen = values && choiceOf(values[under + list]);
  const rest = { name: name.slice(dot + 1), values, under: `${under}${list}.` };
  return branchesOf(specOf(list))
    .filter(([choice]) => chosen === null || choice === chosen)
    .flatMap(([, specs]) => findSpecs(specs, rest));
}

/**
 * The facts of one input of a node with these values; null when it has no such input, also where a dynamic list has no known
 * choice. Without values those of a class: of several branches the one with choices, and the choices of all.
 */
export function findInput({ input }: ObjectInfo, name: string, values: Wanted["values"]): InputFacts | null {
  const found = findSpecs(input ?? {}, { name, values }).map(readInputFacts);
  const facts = found.find(({ choices }) => choices !== null) ?? found[0];
  if (!facts) return null;
  const choices = [...new Set(found.flatMap((one) => one.choices ?? []))];
  return { ...facts, choices: facts.choices && choices };
}

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

/** Such an input stands for any number of inputs `<name>.<member>`, also for none. */
const growsFrom = (spec: unknown) => readInputFacts(spec).type === "COMFY_AUTOGROW_V3";

/** Required inputs without a value, those of the chosen branches of dynamic lists included. */
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
    branchesOf(spec)
      .filter(([choice]) => choice === choiceOf(values[under + input]))
      .flatMap(([, specs]) => findLacking(specs, values, `${under}${input}.`)),
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

/** All reasons for which a server would refuse a job of the workflow: as it is, without each optional picture, at the limits of its numbers. */
export function checkWorkflow(workflow: Workflow, objectInfo: ObjectInfoByClass): string[] {
  const graphs = [
    workflow.graph,
    ...withoutOptional(workflow),
    atLimits(workflow, "min"),
    atLimits(workflow, "max"),
  ];
  return [...new Set(graphs.flatMap((graph) => checkGraph(graph, objectInfo)))];
}
