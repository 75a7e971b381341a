import { z } from "zod";
import type { InputRole } from "../engines.ts";
import { AppError } from "../platform/index.ts";
import { valueSchema } from "./params.ts";
import {
  type Graph,
  type InputSpec,
  paramNames,
  type ParamSpec,
  type Workflow,
  writeGraphInput,
} from "./workflow.ts";

/** Changes the graph in place as the manifest declares for a missing optional image. */
export function applyWithout(graph: Graph, without: InputSpec["without"]): void {
  for (const nodeId of without?.remove ?? []) delete graph[nodeId];
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

function readValue([name, spec]: ParamEntry, given: unknown): string | number | undefined {
  const value = given ?? (spec.type === "seed" ? undefined : spec.default);
  if (value === undefined) {
    if (spec.type !== "seed" && !spec.required) return undefined;
    throw new AppError("bad_request", `The workflow needs the param "${name}".`);
  }
  const parsed = valueSchema(spec).safeParse(value);
  if (!parsed.success) throw new AppError("bad_request", `${name}: ${z.prettifyError(parsed.error)}`);
  const choices: Readonly<Record<string, string | number>> | undefined =
    spec.type === "seed" ? undefined : spec.choices;
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
    for (const address of to) {
      const before = type === "text" ? textByAddress.get(address) : undefined;
      const text = [before, value].filter((part) => part !== undefined && part !== "").join(" ");
      if (type === "text") textByAddress.set(address, text);
      writeGraphInput(graph, address, type === "text" ? text : value);
    }
  }
}

function writeImages(graph: Graph, workflow: Workflow, images: GraphRequest["images"]): void {
  for (const [role, { to, required, without }] of Object.entries(workflow.inputs)) {
    const name = images[role as InputRole];
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
