import type { z } from "zod";
import { type JobKind, optionalInputs, requiredInputs } from "../engines.ts";
import { AppError, isStorable, issuesOf } from "../platform/index.ts";
import { applyWithout } from "./build-graph.ts";
import { valueSchema } from "./params.ts";
import {
  findDanglingLinks,
  type Graph,
  graphSchema,
  hashOf,
  type InputSpec,
  isLink,
  type Manifest,
  manifestSchema,
  type ModelInput,
  type ParamName,
  type ParamSpec,
  paramTypes,
  parseInputAddress,
  readGraphInput,
  type Workflow,
} from "./workflow.ts";

function checkWithout(outputs: readonly string[], graph: Graph, spec: InputSpec): string[] {
  const { remove = [], set = {}, unset = [] } = spec.without ?? {};
  const rest = structuredClone(graph);
  applyWithout(rest, spec.without);
  return [
    ...remove.filter((id) => !Object.hasOwn(graph, id)).map((id) => `the graph has no node ${id}`),
    ...remove.filter((id) => outputs.includes(id)).map((id) => `node ${id} is an output`),
    ...[...Object.keys(set), ...unset]
      .filter((address) => readGraphInput(graph, address) === undefined)
      .map((address) => `the graph has no ${address}`),
    ...spec.to
      .filter((address) => Object.hasOwn(rest, parseInputAddress(address).nodeId))
      .map((address) => `${address} is left without a picture`),
    ...findDanglingLinks(rest),
  ];
}

/** Faults in the `without` of an optional image. */
function checkInput(
  { outputs }: Manifest,
  graph: Graph,
  [role, spec]: readonly [string, InputSpec],
): string[] {
  const field = `inputs.${role}.without`;
  if (spec.required) return spec.without ? [`${field}: a required input is never left out`] : [];
  if (!spec.without) return [`${field}: is missing; it says how the graph works without the picture`];
  return checkWithout(outputs, graph, spec).map((reason) => `${field}: ${reason}`);
}

function checkTo(graph: Graph, { type, to }: ParamSpec): string[] {
  const holds = type === "text" || type === "points" || type === "listed" ? "string" : "number";
  return to.flatMap((address) => {
    const value = readGraphInput(graph, address);
    if (value === undefined) return [`the graph has no ${address}`];
    const isFit = typeof value === holds || isLink(value);
    return isFit ? [] : [`${address} holds no ${holds === "string" ? "text" : "number"}`];
  });
}

function checkSeed({ min = 0, max = Infinity }: ParamSpec & { type: "seed" }): string[] {
  return min > max ? ["has a min above its max"] : [];
}

function checkValues(spec: ParamSpec): string[] {
  switch (spec.type) {
    case "seed":
      return checkSeed(spec);
    case "points":
    case "box":
    case "loras":
    case "listed":
      return [];
    case "text":
    case "integer":
    case "number":
      return checkUsual(spec);
  }
}

function checkUsual(spec: Extract<ParamSpec, { type: "text" | "integer" | "number" }>): string[] {
  const problems: string[] = [];
  if (spec.required && spec.default !== undefined) problems.push("is required and has a default");
  if (spec.type !== "text" && !spec.choices) {
    const { min, max } = spec;
    if (min === undefined || max === undefined) problems.push("needs min and max, or choices");
    else if (min > max) problems.push("has a min above its max");
  }
  if (spec.default !== undefined && !valueSchema(spec).safeParse(spec.default).success) {
    problems.push("has a default that is not among its values");
  }
  return problems;
}

function checkLoras(graph: Graph, spec: ParamSpec): string[] {
  if (spec.type !== "loras") return [];
  const values = Object.values(graph).flatMap(({ inputs }) => Object.values(inputs));
  const isUsed = ([node, output]: readonly [string, number]) =>
    values.some((value) => isLink(value) && value[0] === node && value[1] === output);
  return [spec.model, ...(spec.clip ? [spec.clip] : [])]
    .filter((link) => !isUsed(link))
    .map((link) => `nothing in the graph uses ${JSON.stringify(link)}`);
}

/** Faults of one param of a manifest. */
function checkParam(graph: Graph, name: string, spec: ParamSpec): string[] {
  const wanted = paramTypes[name as ParamName];
  const problems = [...checkTo(graph, spec), ...checkValues(spec), ...checkLoras(graph, spec)];
  if (spec.type !== wanted) problems.push(`must be of type ${wanted}`);
  return problems.map((problem) => `params.${name}: ${problem}`);
}

function checkTextInputs(graph: Graph, field: string, addresses: readonly string[]): string[] {
  return addresses.flatMap((address) => {
    const value = readGraphInput(graph, address);
    if (value === undefined) return [`${field}: the graph has no ${address}`];
    return typeof value === "string" ? [] : [`${field}: ${address} holds no text`];
  });
}

function checkOutputs({ outputs, prefix }: Manifest, graph: Graph): string[] {
  return outputs.flatMap((nodeId) => {
    if (!Object.hasOwn(graph, nodeId)) return [`outputs: the graph has no node ${nodeId}`];
    const address = `${nodeId}.filename_prefix`;
    const isShared = readGraphInput(graph, address) !== undefined && !prefix.includes(address);
    return isShared ? [`prefix: ${address} is missing, so two jobs would share a file`] : [];
  });
}

function checkRoles({ kind, inputs, paste }: Manifest): string[] {
  const required = requiredInputs(kind);
  const known = [...required, ...optionalInputs(kind)];
  const problems = required
    .filter((role) => !inputs[role]?.required)
    .map((role) => `inputs: ${kind} needs the required input "${role}"`);
  for (const role of Object.keys(inputs)) {
    if (!known.some((name) => name === role)) problems.push(`inputs: ${kind} takes no "${role}"`);
  }
  if (paste && !inputs.mask) problems.push('paste: needs the input "mask"');
  return problems;
}

const sides = ["left", "top", "right", "bottom"] as const satisfies readonly ParamName[];

/** Params of one kind only; requests of other kinds cannot set them. */
const ofOneKind: Partial<Record<ParamName, JobKind>> = {
  category: "outfit_change",
  scale: "upscale",
  checkpoint: "text_to_image",
  loras: "text_to_image",
  sampler: "text_to_image",
  scheduler: "text_to_image",
  referenceStrength: "text_to_image",
  styleStrength: "text_to_image",
  structureStrength: "text_to_image",
  faceStrength: "text_to_image",
  clicks: "segment",
  box: "segment",
  left: "expand",
  top: "expand",
  right: "expand",
  bottom: "expand",
};

function checkKind({ kind, params }: Manifest): string[] {
  return Object.keys(params)
    .filter((name) => (ofOneKind[name as ParamName] ?? kind) !== kind)
    .map((name) => `params: ${kind} has no "${name}"`);
}

function checkShared({ params, inputs, models, prefix }: Manifest): string[] {
  const texts = Object.values(params).filter(({ type }) => type === "text");
  const others = Object.values(params).filter(({ type }) => type !== "text");
  const written = [
    ...new Set(texts.flatMap(({ to }) => to)),
    ...[...others, ...Object.values(inputs)].flatMap(({ to }) => to),
    ...models,
    ...prefix,
  ];
  const twice = written.filter((address, at) => written.indexOf(address) !== at);
  return [...new Set(twice)].map((address) => `${address} is written twice; only texts may share a place`);
}

/** Everything that makes a manifest unfit for its graph, one line each. */
function checkManifest(manifest: Manifest, graph: Graph): string[] {
  const { kind, params, inputs, models, prefix } = manifest;
  return [
    ...findDanglingLinks(graph),
    ...(kind === "text_to_image" && !params.prompt ? ['params: text_to_image needs "prompt"'] : []),
    ...(kind === "expand" ? sides.filter((name) => !params[name]) : []).map(
      (name) => `params: expand needs "${name}"`,
    ),
    ...checkKind(manifest),
    ...Object.entries(params).flatMap(([name, spec]) => checkParam(graph, name, spec)),
    ...checkRoles(manifest),
    ...Object.entries(inputs).flatMap(([role, spec]) => [
      ...checkTextInputs(graph, `inputs.${role}`, spec.to),
      ...checkInput(manifest, graph, [role, spec]),
    ]),
    ...checkTextInputs(graph, "models", models),
    ...checkTextInputs(graph, "prefix", prefix),
    ...checkOutputs(manifest, graph),
    ...checkShared(manifest),
  ];
}

export interface WorkflowSource {
  readonly name: string;
  /** The content of workflow.json. */
  readonly manifest: unknown;
  /** The content of graph.json. */
  readonly graph: unknown;
  readonly isBuiltIn: boolean;
}

const namePattern = /^[a-z0-9][a-z0-9_-]{0,63}$/;

function linesOf(file: string, error: z.ZodError | undefined): string[] {
  if (!error) return [];
  return issuesOf(error).map(({ path, message }) => `${file}: ${path === "" ? "" : `${path}: `}${message}`);
}

/** Every text that JSON holds, keys too; the database would refuse the whole registration for one of them. */
function hasUnstorable(value: unknown): boolean {
  if (typeof value === "string") return !isStorable(value);
  if (typeof value !== "object" || value === null) return false;
  return Object.entries(value).some(([key, item]) => !isStorable(key) || hasUnstorable(item));
}

function refuse(name: string, problems: readonly string[]): never {
  throw new AppError("bad_request", `The workflow "${name}" cannot be used: ${problems.join("; ")}`, {
    details: { problems },
  });
}

function modelAt(graph: Graph, address: string): ModelInput {
  const { nodeId, input } = parseInputAddress(address);
  return { class: graph[nodeId]?.class_type ?? "", input, file: String(readGraphInput(graph, address)) };
}

function assemble(name: string, manifest: Manifest, graph: Graph): Omit<Workflow, "isBuiltIn"> {
  return {
    ...manifest,
    name,
    hash: hashOf({ manifest, graph }),
    models: manifest.models.map((address) => modelAt(graph, address)),
    classes: [...new Set(Object.values(graph).map((node) => node.class_type))].toSorted(),
    graph,
    manifest,
  };
}

/** Parses the content of the two files of a workflow. Throws `bad_request` with every problem in `details.problems`. */
export function parseWorkflow({ name, manifest, graph, isBuiltIn }: WorkflowSource): Workflow {
  const isNamed = namePattern.test(name);
  const parsedManifest = manifestSchema.safeParse(manifest);
  const parsedGraph = graphSchema.safeParse(graph);
  const problems = [
    ...(isNamed ? [] : ["the name may hold only a-z, 0-9, _ and -, at most 64"]),
    ...linesOf("workflow.json", parsedManifest.error),
    ...linesOf("graph.json", parsedGraph.error),
    ...Object.entries({ "workflow.json": manifest, "graph.json": graph })
      .filter(([, content]) => hasUnstorable(content))
      .map(([file]) => `${file}: holds a text that cannot be stored (NUL or half of a character)`),
  ];
  if (!parsedManifest.success || !parsedGraph.success) return refuse(name, problems);
  problems.push(...checkManifest(parsedManifest.data, parsedGraph.data));
  if (problems.length > 0) return refuse(name, problems);
  return { ...assemble(name, parsedManifest.data, parsedGraph.data), isBuiltIn };
}
