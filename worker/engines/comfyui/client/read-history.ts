import { z } from "zod";
import { ask, jsonOf } from "./ask.ts";
import type { CallOptions, ComfyServer } from "./comfy-server.ts";

const entrySchema = z.object({
  outputs: z.record(z.string(), z.record(z.string(), z.unknown())).default({}),
  status: z
    .object({
      status_str: z.string(),
      completed: z.boolean().default(false),
      messages: z.array(z.tuple([z.string(), z.unknown()])).default([]),
    })
    // Servers of early 2024 and older write null here for what went well.
    .nullish(),
});

/** How a prompt ended. */
export type HistoryEntry = z.infer<typeof entrySchema>;

const historySchema = z.record(z.string(), entrySchema);
const maxHistoryBytes = 32 * 1024 * 1024;

/** The end of a prompt; null while it waits or runs, and when the server does not know it. */
export async function readHistory(
  server: ComfyServer,
  promptId: string,
  options: CallOptions,
): Promise<HistoryEntry | null> {
  const path = `history/${encodeURIComponent(promptId)}`;
  return (
    jsonOf(await ask(server, { path, maxBytes: maxHistoryBytes }, options), historySchema)[promptId] ?? null
  );
}
