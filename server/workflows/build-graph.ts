import { type InputRole, inputRoles } from "../engines.ts";
import { AppError } from "../platform/index.ts";
import { loraNodes } from "./models.ts";
import { type Loras, lorasSchema, type ParamValue, valueSchema } from "./params.ts";
import {
  type Graph,
  type InputSpec,
  isLink,
  type Link,
  type LorasParam,
  paramNames,
  type ParamSpec,
  removeGraphInput,
  type Workflow,
  writeGraphInput,
} from "./workflow.ts";

/** Changes the graph in place as the manifest declares for a missing optional image. */
export function applyWithout(graph: Graph, without: InputSpec["without"]): void {
  for (const nodeId of without?.remove ?? []) delete graph[nodeId];
  for (const address of without?.unset ?? []) removeGraphInput(graph, address);
  for (const [address, value] of Object.entries(without?.set ?? {})) writeGraphInput(graph, address, value);
}

export interface GraphRequest {
  /** Params of the job; those that the workflow does not declare are ignored. */
  readonly params: Readonly<Record<string, unknown>>;
  /** By role: the file name on the server, as returned by its upload. */
  readonly images: Readonly<Partial<Record<InputRole, string>>>;
  /** Start of the result's file name. Unique per job: for an equal graph ComfyUI returns the earlier file. */
  readonly prefix: string;
}

type ParamEntry = readonly [name: string, spec: ParamSpec];

/** What a job that names no value gets; and whether it must name one. */
function defaultOf(spec: ParamSpec): {
  readonly value?: string | number | undefined;
  readonly isRequired: boolean;
} {
  if (spec.type === "loras") return { isRequired: false };
  if (spec.type === "listed") return { isRequired: spec.required };
  if (spec.type === "seed" || spec.type === "points" || spec.type === "box") return { isRequired: true };
  return { value: spec.default, isRequired: spec.required };
}

function readValue([name, spec]: ParamEntry, given: unknown): ParamValue | undefined {
  const { value: usual, isRequired } = defaultOf(spec);
  const value = given ?? usual;
  if (value === undefined) {
    if (!isRequired) return undefined;
    throw new AppError("bad_request", `The workflow needs the param "${name}".`);
  }
  const parsed = valueSchema(spec).safeParse(value);
  if (!parsed.success)
    throw new AppError(
      "bad_request",
      `${name}: ${parsed.error.issues.map(({ message }) => message).join("; ")}`,
    );
  if (typeof parsed.data === "object") return parsed.data;
  const choices: Readonly<Record<string, string | number>> | undefined =
    "choices" in spec ? spec.choices : undefined;
  return choices?.[String(parsed.data)] ?? parsed.data;
}

/** Texts for the same graph input are joined by a space, in the order of `paramTypes`: the database keeps no order of keys. */
function writeParams(graph: Graph, workflow: Workflow, params: GraphRequest["params"]): void {
  const textByAddress = new Map<string, string>();
  for (const name of paramNames) {
    const spec = workflow.params[name];
    if (!spec) continue;
    const { type, to } = spec;
    const value = readValue([name, spec], params[name]);
    if (value === undefined) continue;
    if (spec.type === "loras") {
      chainLoras(graph, spec, lorasSchema.parse(value));
      continue;
    }
    if (typeof value === "object") {
      // Safe cast: LoRAs went their own way above.
      writePlaces(graph, to, value as Exclude<typeof value, Loras>);
      continue;
    }
    for (const address of to) {
      const before = type === "text" ? textByAddress.get(address) : undefined;
      const text = [before, value].filter((part) => part !== undefined && part !== "").join(" ");
      if (type === "text") textByAddress.set(address, text);
      writeGraphInput(graph, address, type === "text" ? text : value);
    }
  }
}

/** Puts a node for each LoRA between the loaders and all that used them; the last one stands where the loaders stood. */
function chainLoras(graph: Graph, { model, clip }: LorasParam, loras: Loras): void {
  const users = (from: Link | undefined) =>
    Object.values(graph).flatMap(({ inputs }) =>
      Object.keys(inputs)
        .filter((name) => isSameLink(inputs[name], from))
        .map((name) => ({ inputs, name })),
    );
  const [ofModel, ofClip] = [users(model), users(clip)];
  // ComfyUI wants no order of ids, but some programs that read its files want numbers.
  const firstId = Math.max(0, ...Object.keys(graph).map(Number).filter(Number.isInteger)) + 1;
  let last: { readonly model: Link; readonly clip: Link | undefined } = { model, clip };
  for (const [at, { name, weight }] of loras.entries()) {
    const id = String(firstId + at);
    const common = { model: [...last.model], lora_name: name, strength_model: weight };
    graph[id] = last.clip
      ? { class_type: loraNodes.both, inputs: { ...common, clip: [...last.clip], strength_clip: weight } }
      : { class_type: loraNodes.model, inputs: common };
    last = { model: [id, 0], clip: last.clip && [id, 1] };
  }
  for (const { inputs, name } of ofModel) inputs[name] = [...last.model];
  for (const { inputs, name } of ofClip) if (last.clip) inputs[name] = [...last.clip];
}

const isSameLink = (value: unknown, link: Link | undefined) =>
  link !== undefined && isLink(value) && value[0] === link[0] && value[1] === link[1];

/** Writes points or a rectangle, each part to its own graph input. */
function writePlaces(
  graph: Graph,
  to: readonly string[],
  value: Exclude<ParamValue, string | number | Loras>,
): void {
  const listOf = (wanted: string, points: Extract<typeof value, readonly unknown[]>) =>
    JSON.stringify(points.filter(({ mode }) => mode === wanted).map(({ x, y }) => ({ x, y })));
  const parts = Array.isArray(value)
    ? [listOf("include", value), listOf("exclude", value)]
    : [value.left, value.top, value.width, value.height];
  for (const [at, address] of to.entries()) writeGraphInput(graph, address, parts[at] ?? "");
}

/** Further pictures first: what the graph gets without the second one holds without the third as well. */
function writeImages(graph: Graph, workflow: Workflow, images: GraphRequest["images"]): void {
  for (const role of inputRoles.toReversed()) {
    const spec = workflow.inputs[role];
    if (!spec) continue;
    const { to, required, without } = spec;
    const name = images[role];
    if (name !== undefined) for (const address of to) writeGraphInput(graph, address, name);
    else if (required) throw new AppError("input_missing", undefined, { details: { role } });
    else applyWithout(graph, without);
  }
}

/**
 * The graph of one job: a copy in which only the graph inputs that the manifest declares are written.
 * Throws `bad_request` for params that do not fit, `input_missing` for a required picture that is not given.
 */
export function buildGraph(workflow: Workflow, { params, images, prefix }: GraphRequest): Graph {
  const undeclared = Object.keys(images).find((role) => !Object.hasOwn(workflow.inputs, role));
  if (undeclared) throw new AppError("bad_request", `The workflow takes no picture as "${undeclared}".`);
  const graph = structuredClone(workflow.graph);
  writeImages(graph, workflow, images);
  writeParams(graph, workflow, params);
  for (const address of workflow.prefix) writeGraphInput(graph, address, prefix);
  return graph;
}
