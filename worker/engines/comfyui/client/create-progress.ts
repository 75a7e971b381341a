import type { PromptGraph } from "./comfy-server.ts";
import type { PromptEvent } from "./parse-event.ts";

/** How much of a run's time nodes take, roughly: samplers most of it, loaders and codecs some. */
const weights: readonly (readonly [RegExp, number])[] = [
  [/^KSampler|^SamplerCustom/, 40],
  [/UpscaleWithModel/, 20],
  [/Loader/, 4],
  [/^VAE|TextEncode/, 3],
];
const leastWeight = 0.5;

/** Fractions below 1 only: it is done when its files are here. */
const mostFraction = 0.99;
const leastStep = 0.005;
/** No node's id. */
const none = "";

export type OnProgress = (fraction: number, nodeClass: string) => void;

/** Adds up what events say into one fraction that never falls; tells the class of the node that works. */
export function createProgress(graph: PromptGraph, onProgress: OnProgress): (event: PromptEvent) => void {
  const shares = new Map<string, number>();
  const total = Object.keys(graph).reduce((sum, id) => sum + weightOf(graph, id), 0);
  let current: string | null = null;
  let told: { fraction: number; node: string | null } = { fraction: -1, node: null };

  const raise = (id: string, share: number) => {
    // Servers send a maximum of 0 now and then.
    if (id in graph && Number.isFinite(share))
      shares.set(id, Math.max(shares.get(id) ?? 0, Math.min(1, share)));
  };
  return (event) => {
    for (const [id, share] of sharesIn(event, current)) raise(id, share);
    if (event.type === "executing") current = event.data.node;
    if (current === null) return;
    const done = [...shares].reduce((sum, [id, share]) => sum + share * weightOf(graph, id), 0);
    const fraction = Math.max(told.fraction, Math.min(mostFraction, done / total));
    if (current === told.node && fraction - told.fraction < leastStep) return;
    told = { fraction, node: current };
    onProgress(fraction, graph[current]?.class_type ?? "");
  };
}

/** How far nodes are, 0..1. That another node works now means that the one before is done. */
function sharesIn(event: PromptEvent, current: string | null): [id: string, share: number][] {
  switch (event.type) {
    case "execution_cached":
      return event.data.nodes.map((id) => [id, 1]);
    case "executing":
      return current === event.data.node ? [] : [[current ?? none, 1]];
    case "executed":
      return [[event.data.node, 1]];
    case "progress":
      return [[event.data.node ?? none, event.data.value / event.data.max]];
    case "progress_state":
      return Object.entries(event.data.nodes).map(([id, { state, value, max }]) => [
        id,
        state === "finished" ? 1 : value / max,
      ]);
    case "feature_flags":
    case "execution_start":
    case "execution_end":
      return [];
  }
}

function weightOf(graph: PromptGraph, id: string): number {
  const nodeClass = graph[id]?.class_type ?? "";
  return weights.find(([pattern]) => pattern.test(nodeClass))?.[1] ?? leastWeight;
}
