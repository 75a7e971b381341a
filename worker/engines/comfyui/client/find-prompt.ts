import type { CallOptions, ComfyServer } from "./comfy-server.ts";
import { readHistory, type HistoryEntry } from "./read-history.ts";
import { readQueue } from "./read-queue.ts";

export type PromptPlace =
  | { readonly state: "pending" | "running" | "unknown" }
  | { readonly state: "ended"; readonly entry: HistoryEntry };

/** Where a prompt is. A server keeps queue and history in memory only, so a restart makes it unknown. */
export async function findPrompt(
  server: ComfyServer,
  promptId: string,
  options: CallOptions,
): Promise<PromptPlace> {
  const early = await readHistory(server, promptId, options);
  if (early) return { state: "ended", entry: early };
  const { running, pending } = await readQueue(server, options);
  if (running.includes(promptId)) return { state: "running" };
  if (pending.includes(promptId)) return { state: "pending" };
  // It may have ended between the two answers: a prompt leaves the queue and enters the history at once.
  const entry = await readHistory(server, promptId, options);
  return entry ? { state: "ended", entry } : { state: "unknown" };
}
