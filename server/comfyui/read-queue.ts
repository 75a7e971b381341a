import { z } from "zod";
import { ask, jsonOf } from "./ask.ts";
import type { CallOptions, ComfyServer } from "./comfy-server.ts";

/** Ids of the prompts of a server, in the order of the answer. */
export interface ServerQueue {
  readonly running: readonly string[];
  readonly pending: readonly string[];
}

const entries = z.array(z.tuple([z.number(), z.string()], z.unknown()));
const schema = z.object({ queue_running: entries, queue_pending: entries });

/** Every entry carries its whole graph, so a long queue is a long answer. */
const maxBytes = 64 * 1024 * 1024;

/** What runs and waits on the server. */
export async function readQueue(server: ComfyServer, options: CallOptions): Promise<ServerQueue> {
  const queue = jsonOf(await ask(server, { path: "queue", maxBytes }, options), schema);
  return {
    running: queue.queue_running.map(([, id]) => id),
    pending: queue.queue_pending.map(([, id]) => id),
  };
}
