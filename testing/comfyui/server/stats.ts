import type { Graph } from "../graph/graph.ts";

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
