import type { Graph } from "./graph.ts";
import type { Manifest } from "./manifest.ts";

/** The file of a model that a graph names, and the input of which node class names it. */
export interface ModelPlace {
  readonly class: string;
  readonly input: string;
  readonly file: string;
}

/** A graph with all that is needed to offer it, to find a server for it and to fill it in. */
export interface Workflow extends Readonly<Omit<Manifest, "models">> {
  /** Unique; the folder's name. */
  readonly name: string;
  /** sha256, hex, of graph and manifest; the order of keys does not matter. */
  readonly hash: string;
  readonly models: readonly ModelPlace[];
  /** Node classes of the graph, sorted, each once. */
  readonly classes: readonly string[];
  readonly graph: Graph;
  /** As it was parsed; with `name` and `graph` it is what another process needs to parse it again. */
  readonly manifest: Manifest;
  readonly isBuiltIn: boolean;
}
