import { readdirSync, readFileSync } from "node:fs";
import { builtInWorkflows } from "@atelier/server/workflows";
import { anyFact, asNode, type Graph, type GraphNode } from "../graph/classes.ts";
import { type ComfyMode, isObject, parseJson } from "../options.ts";

const folder = new URL("../fixtures/graphs/", import.meta.url);

/** Names of the 18 fixture graphs. */
export function graphNames(): string[] {
  return readdirSync(folder).map((file) => file.replace(/\.json$/, ""));
}

/** A fresh copy of a fixture graph. */
export function readGraph(name: string): Graph {
  const parsed = parseJson(readFileSync(new URL(`${name}.json`, folder), "utf8"));
  const nodes: Record<string, GraphNode> = {};
  for (const [nodeId, value] of Object.entries(isObject(parsed) ? parsed : {})) {
    const node = asNode(value);
    if (node) nodes[nodeId] = node;
  }
  return nodes;
}

/** The model files that graphs name, by folder. */
export function modelsOf(graphs: readonly Graph[]): Record<string, string[]> {
  const models: Record<string, string[]> = {};
  for (const node of graphs.flatMap((graph) => Object.values(graph))) {
    for (const [input, { choices }] of Object.entries(anyFact(node.class_type)?.inputs ?? {})) {
      const name = node.inputs[input];
      if (typeof choices !== "string" || typeof name !== "string") continue;
      const files = (models[choices.replace(/^files of /, "")] ??= []);
      if (!files.includes(name)) files.push(name);
    }
  }
  delete models.input;
  return models;
}

/** Every model that the fixture graphs need; of the newer line also those of all built-in workflows. */
export function allGraphModels(mode: ComfyMode = "0.8.0"): Record<string, string[]> {
  const newer = mode === "new" ? builtInWorkflows().map(({ graph }) => graph) : [];
  return modelsOf([...graphNames().map(readGraph), ...newer]);
}

/** How often something happened to one prompt id, over all restarts of the server. */
export interface PromptStory {
  readonly promptId: string;
  readonly clientId: string | null;
  readonly graph: Graph;
  posted: number;
  started: number;
  /** Executed to the end with success. */
  finished: number;
  failed: number;
  interrupted: number;
  /** Taken out of the line before it ran. */
  deleted: number;
  /** Lost with a restart, waiting or running. */
  lost: number;
}

/** What the server has done since it was made. */
export interface ComfyStats {
  uploads: number;
  views: number;
  frees: number;
  interrupts: number;
  refused: number;
  restarts: number;
  sockets: number;
  /** "POST /prompt" to the number of requests; ids are left out of the path. */
  readonly requests: Record<string, number>;
  readonly prompts: Record<string, Omit<PromptStory, "graph">>;
}

export interface Ledger {
  readonly counts: Omit<ComfyStats, "prompts">;
  readonly stories: Map<string, PromptStory>;
}

export function openLedger(): Ledger {
  const counts = { uploads: 0, views: 0, frees: 0, interrupts: 0, refused: 0, restarts: 0, sockets: 0 };
  return { counts: { ...counts, requests: {} }, stories: new Map() };
}

/** The figures without the graphs. */
export function readStats(ledger: Ledger): ComfyStats {
  const prompts: ComfyStats["prompts"] = {};
  for (const [promptId, { graph: _, ...story }] of ledger.stories) prompts[promptId] = story;
  return { ...ledger.counts, requests: { ...ledger.counts.requests }, prompts };
}

/** Counts one event of a prompt. */
export function note(
  ledger: Ledger,
  promptId: string,
  what: "started" | "finished" | "failed" | "interrupted" | "deleted" | "lost",
): void {
  const story = ledger.stories.get(promptId);
  if (story) story[what] += 1;
}
