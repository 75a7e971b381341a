import { createHash } from "node:crypto";
import { z } from "zod";
import { inputRoles, workflowKinds } from "../engines.ts";

/** A graph in ComfyUI's API format: nodes by id; an input is a literal or a link `[nodeId, output]`. */
export type Graph = z.infer<typeof graphSchema>;
export type Link = readonly [nodeId: string, output: number];

const nodeSchema = z.object({
  class_type: z.string().min(1),
  inputs: z.record(z.string(), z.json()),
  _meta: z.object({ title: z.string().optional() }).optional(),
});

const maxNodes = 1_000;

function isEditorFormat(value: unknown): boolean {
  return typeof value === "object" && value !== null && "nodes" in value && "links" in value;
}

export const graphSchema = z
  .unknown()
  .refine((value) => !isEditorFormat(value), {
    error: "is in the editor's format: export it with Save (API)",
    abort: true,
  })
  .pipe(z.record(z.string().min(1), nodeSchema))
  .refine((graph) => Object.keys(graph).length <= maxNodes, `has more than ${maxNodes} nodes`);

/** A link as ComfyUI recognises it; a literal list is wrapped in `{ "__value__": [...] }`. */
export function isLink(value: unknown): value is Link {
  return (
    Array.isArray(value) &&
    value.length === 2 &&
    typeof value[0] === "string" &&
    Number.isInteger(value[1]) &&
    value[1] >= 0
  );
}

/** Links of a graph to nodes that it does not have, one line each. */
export function findDanglingLinks(graph: Graph): string[] {
  return Object.entries(graph).flatMap(([nodeId, node]) =>
    Object.entries(node.inputs)
      .filter(([, value]) => isLink(value) && !Object.hasOwn(graph, value[0]))
      .map(
        ([input, value]) => `${nodeId}.${input} is linked to ${JSON.stringify(value)}, which is not there`,
      ),
  );
}

function sortKeys(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sortKeys);
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value).filter(([, item]) => item !== undefined);
  return Object.fromEntries(
    entries.toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([key, item]) => [key, sortKeys(item)]),
  );
}

/** SHA-256 of JSON data, in hex; the order of keys does not change the hash. */
export function hashOf(value: unknown): string {
  return createHash("sha256")
    .update(JSON.stringify(sortKeys(value)))
    .digest("hex");
}

/** The params that a job may have, with their type in a manifest. Texts for the same graph input are joined in this order. */
export const paramTypes = {
  category: "text",
  clicks: "points",
  box: "box",
  checkpoint: "listed",
  loras: "loras",
  prompt: "text",
  negativePrompt: "text",
  width: "integer",
  height: "integer",
  steps: "integer",
  sampler: "listed",
  scheduler: "listed",
  scale: "integer",
  left: "integer",
  top: "integer",
  right: "integer",
  bottom: "integer",
  guidance: "number",
  strength: "number",
  referenceStrength: "number",
  styleStrength: "number",
  structureStrength: "number",
  faceStrength: "number",
  seed: "seed",
} as const;

export type ParamName = keyof typeof paramTypes;
/** In the order of `paramTypes`. */
export const paramNames = Object.keys(paramTypes) as ParamName[];

const address = z.string().regex(/^[^.]+\..+$/, "must be <nodeId>.<input>");
const addresses = z.array(address).min(1);

const textParam = z.strictObject({
  type: z.literal("text"),
  /** Accepted value -> text written into the graph. Without `choices` the value itself is written. */
  choices: z.record(z.string().min(1), z.string()).optional(),
  default: z.string().optional(),
  required: z.boolean().default(false),
  to: addresses,
});

const numberParam = z.strictObject({
  type: z.enum(["integer", "number"]),
  min: z.number().optional(),
  max: z.number().optional(),
  multipleOf: z.int().positive().optional(),
  /** Accepted value -> number written into the graph, in place of a range. */
  choices: z.record(z.string().regex(/^\d+(\.\d+)?$/, "must be a number"), z.number()).optional(),
  default: z.number().optional(),
  required: z.boolean().default(false),
  to: addresses,
});

const seedLimit = z.int().nonnegative();
const seedParam = z.strictObject({
  type: z.literal("seed"),
  min: seedLimit.optional(),
  max: seedLimit.optional(),
  to: addresses,
});

/** Points of the picture: JSON lists of `{ x, y }`, those that include and those that exclude. */
const pointsParam = z.strictObject({
  type: z.literal("points"),
  to: z.tuple([address, address]),
});

/** A rectangle of the picture in px: left, top, width and height. */
const boxParam = z.strictObject({
  type: z.literal("box"),
  to: z.tuple([address, address, address, address]),
});

const link = z.tuple([z.string(), z.int().nonnegative()]);

/** LoRAs are put between the outputs of loaders and all that uses these: a chain of nodes, which the graph does not have. */
const lorasParam = z.strictObject({
  type: z.literal("loras"),
  model: link,
  /** Without it the LoRAs change the model alone. */
  clip: link.optional(),
  /** They are written to no input that is there. */
  to: z.tuple([]).default([]),
});

export type LorasParam = z.output<typeof lorasParam>;

/** One of the values that a server lists for the first of these graph inputs, such as its checkpoints or samplers. */
const listedParam = z.strictObject({
  type: z.literal("listed"),
  /** Without it the graph keeps its own value when a job names none. */
  required: z.boolean().default(false),
  to: addresses,
});

const paramSchema = z.discriminatedUnion("type", [
  textParam,
  numberParam,
  seedParam,
  pointsParam,
  boxParam,
  lorasParam,
  listedParam,
]);

const withoutSchema = z.strictObject({
  remove: z.array(z.string()).default([]),
  set: z.record(address, z.union([link, z.string(), z.number(), z.boolean()])).default({}),
  /** Optional inputs of nodes that stay, which then get nothing. */
  unset: z.array(address).default([]),
});

const inputSchema = z.strictObject({
  to: addresses,
  required: z.boolean().default(true),
  /** How the graph changes when an optional picture is not given. */
  without: withoutSchema.optional(),
});

/** Of the models; where several have one each, the strictest. */
const licenceSchema = z.strictObject({
  name: z.string().trim().min(1).max(80),
  isCommercial: z.boolean(),
  /** The workflow is off until an admin has accepted the licence for the studio. */
  mustBeAccepted: z.boolean().default(false),
});

export const manifestSchema = z.strictObject({
  title: z.string().trim().min(1).max(80),
  description: z.string().trim().max(300),
  kind: z.enum(workflowKinds),
  /** Among the workflows of a kind the lowest rank is preferred. */
  rank: z.number(),
  vramGib: z.number().nonnegative(),
  /** Size of all files of models together, in GB. */
  sizeGb: z.number().nonnegative().optional(),
  licence: licenceSchema.optional(),
  params: z.partialRecord(z.enum(paramNames), paramSchema).default({}),
  inputs: z.partialRecord(z.enum(inputRoles), inputSchema).default({}),
  /** Graph inputs that hold the file name of a model. */
  models: z.array(address).default([]),
  /** Graph inputs that receive the start of the result's file name. */
  prefix: z.array(address).default([]),
  outputs: z.array(z.string()).min(1),
  /** Whether the result is pasted into the input picture, so that nothing outside the mask changes. */
  paste: z.boolean().default(false),
  sizeMultipleOf: z.int().min(1).max(256).default(8),
});

export type Manifest = z.output<typeof manifestSchema>;
export type ParamSpec = z.output<typeof paramSchema>;
export type InputSpec = z.output<typeof inputSchema>;

/** One input of one node. Its address is `<nodeId>.<input>`; the name of the input may contain dots. */
interface GraphInput {
  readonly nodeId: string;
  readonly input: string;
}

export function parseInputAddress(address: string): GraphInput {
  const dot = address.indexOf(".");
  return { nodeId: address.slice(0, dot), input: address.slice(dot + 1) };
}

/** The value of a graph input; undefined when the graph has no such input. */
export function readGraphInput(graph: Graph, address: string): unknown {
  const { nodeId, input } = parseInputAddress(address);
  const node = Object.hasOwn(graph, nodeId) ? graph[nodeId] : undefined;
  return node && Object.hasOwn(node.inputs, input) ? node.inputs[input] : undefined;
}

/** Writes a graph input in place; does nothing when its node was removed from the graph. */
export function writeGraphInput(graph: Graph, address: string, value: Graph[string]["inputs"][string]): void {
  const { nodeId, input } = parseInputAddress(address);
  const node = Object.hasOwn(graph, nodeId) ? graph[nodeId] : undefined;
  if (node) node.inputs[input] = value;
}

/** Takes an optional graph input away, in place. */
export function removeGraphInput(graph: Graph, address: string): void {
  const { nodeId, input } = parseInputAddress(address);
  const node = Object.hasOwn(graph, nodeId) ? graph[nodeId] : undefined;
  if (node) delete node.inputs[input];
}

/** A graph input with a model: node class, name of the input, and file name of the model. */
export interface ModelInput {
  readonly class: string;
  readonly input: string;
  readonly file: string;
}

/** A graph with the facts needed to offer it, to choose a server and to fill it in. */
export interface Workflow extends Readonly<Omit<Manifest, "models">> {
  /** Unique; the folder's name. */
  readonly name: string;
  /** SHA-256 of graph and manifest, in hex; the order of keys does not change the hash. */
  readonly hash: string;
  readonly models: readonly ModelInput[];
  /** Node classes of the graph, sorted, each once. */
  readonly classes: readonly string[];
  readonly graph: Graph;
  /** The manifest as parsed; with `name` and `graph` another process can parse it again. */
  readonly manifest: Manifest;
  readonly isBuiltIn: boolean;
}
