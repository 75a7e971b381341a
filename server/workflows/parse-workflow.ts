import type { z } from "zod";
import { AppError, isStorable, issuesOf } from "../platform/index.ts";
import { checkManifest } from "./parse.ts";
import { graphSchema, type Graph } from "./graph.ts";
import { hashOf } from "./hash.ts";
import { manifestSchema, type Manifest } from "./manifest.ts";
import { placeOf, readPlace } from "./place.ts";
import type { ModelPlace, Workflow } from "./workflow.ts";

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

function modelAt(graph: Graph, address: string): ModelPlace {
  const { nodeId, input } = placeOf(address);
  return { class: graph[nodeId]?.class_type ?? "", input, file: String(readPlace(graph, address)) };
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

/** Makes a workflow of the content of its two files; `bad_request` names every problem (`details.problems`). */
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
