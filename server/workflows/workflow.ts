import { createHash } from "node:crypto";
import { z } from "zod";
import { type InputRole, jobKinds } from "../engines.ts";

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

/** sha256, hex, of data; the order of keys does not matter. */
export function hashOf(value: unknown): string {
  return createHash("sha256")
    .update(JSON.stringify(sortKeys(value)))
    .digest("hex");
}

/** Which params a job may have, with the type that a manifest must give them; texts in the order in which they are joined. */
export const paramTypes = {
  category: "text",
  prompt: "text",
  negativePrompt: "text",
  width: "integer",
  height: "integer",
  steps: "integer",
  scale: "integer",
  guidance: "number",
  strength: "number",
  seed: "seed",
} as const;

export type ParamName = keyof typeof paramTypes;
/** In a fixed order. */
export const paramNames = Object.keys(paramTypes) as ParamName[];

const inputRoles = ["person", "garment", "image", "reference", "mask"] as const satisfies InputRole[];

const address = z.string().regex(/^[^.]+\..+$/, "must be <nodeId>.<input>");
const addresses = z.array(address).min(1);

const textParam = z.strictObject({
  type: z.literal("text"),
  /** Accepted value -> text written into the graph. Without it the value itself is written. */
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

const seedParam = z.strictObject({ type: z.literal("seed"), to: addresses });

const paramSchema = z.discriminatedUnion("type", [textParam, numberParam, seedParam]);

const link = z.tuple([z.string(), z.int().nonnegative()]);
const withoutSchema = z.strictObject({
  remove: z.array(z.string()).default([]),
  set: z.record(address, z.union([link, z.string(), z.number(), z.boolean()])).default({}),
});

const inputSchema = z.strictObject({
  to: addresses,
  required: z.boolean().default(true),
  /** How the graph changes when an optional picture is not given. */
  without: withoutSchema.optional(),
});

export const manifestSchema = z.strictObject({
  title: z.string().trim().min(1).max(80),
  description: z.string().trim().max(300),
  kind: z.enum(jobKinds),
  /** The lower is preferred within the kind. */
  rank: z.number(),
  vramGib: z.number().nonnegative(),
  params: z.partialRecord(z.enum(paramNames), paramSchema).default({}),
  inputs: z.partialRecord(z.enum(inputRoles), inputSchema).default({}),
  /** Places whose literal is the file of a model. */
  models: z.array(address).default([]),
  prefix: z.array(address).default([]),
  outputs: z.array(z.string()).min(1),
  /** Whether the result is laid back into the picture, so that nothing outside the mask changes. */
  paste: z.boolean().default(false),
  sizeMultipleOf: z.int().min(1).max(256).default(8),
});

export type Manifest = z.output<typeof manifestSchema>;
export type ParamSpec = z.output<typeof paramSchema>;
export type InputSpec = z.output<typeof inputSchema>;

/** One input of one node, written `<nodeId>.<input>`; the input's own name may hold dots. */
interface Place {
  readonly nodeId: string;
  readonly input: string;
}

export function placeOf(address: string): Place {
  const dot = address.indexOf(".");
  return { nodeId: address.slice(0, dot), input: address.slice(dot + 1) };
}

/** The value of a graph input; undefined when the graph has no such input. */
export function readPlace(graph: Graph, address: string): unknown {
  const { nodeId, input } = placeOf(address);
  const node = Object.hasOwn(graph, nodeId) ? graph[nodeId] : undefined;
  return node && Object.hasOwn(node.inputs, input) ? node.inputs[input] : undefined;
}

/** Changes the graph; a place whose node was removed is left out. */
export function writePlace(graph: Graph, address: string, value: Graph[string]["inputs"][string]): void {
  const { nodeId, input } = placeOf(address);
  const node = Object.hasOwn(graph, nodeId) ? graph[nodeId] : undefined;
  if (node) node.inputs[input] = value;
}

/** The file of a model that a graph names, and the input of which node class names it. */
export interface ModelPlace {
  readonly class: string;
  readonly input: string;
  readonly file: string;
}

/** A graph with the facts needed to offer it, to choose a server and to fill it in. */
export interface Workflow extends Readonly<Omit<Manifest, "models">> {
  /** Unique; the folder's name. */
  readonly name: string;
  /** sha256, hex, of graph and manifest; the order of keys does not matter. */
  readonly hash: string;
  readonly models: readonly ModelPlace[];
  /** Node classes of the graph, sorted, each once. */
  readonly classes: readonly string[];
  readonly graph: Graph;
  /** The manifest as parsed; with `name` and `graph` another process can parse it again. */
  readonly manifest: Manifest;
  readonly isBuiltIn: boolean;
}
