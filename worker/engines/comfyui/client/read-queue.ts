import { z } from "zod";
import { ask, jsonOf } from "./ask.ts";
import type { CallOptions, ComfyServer } from "./comfy-server.ts";

/** Ids of the prompts of a server, in the order of the answer. */
export interface ServerQueue {
  readonly running: readonly string[];
  readonly pending: readonly string[];
}

const entries = z.array(z.tuple([z.number(), z.string()], z.unknown()));
const queueSchema = z.object({ queue_running: entries, queue_pending: entries });

/** Every entry carries its whole graph, so a long queue is a long answer. */
const maxQueueBytes = 64 * 1024 * 1024;

/** What runs and waits on the server. */
export async function readQueue(server: ComfyServer, options: CallOptions): Promise<ServerQueue> {
  const { queue_running: running, queue_pending: pending } = await askQueue(server, options);
  return { running: running.map(([, id]) => id), pending: pending.map(([, id]) => id) };
}

/** A prompt that runs or waits on a server, whoever posted it. */
export interface QueuedPrompt {
  readonly promptId: string;
  readonly graph: unknown;
}

/** The same with the graphs. */
export async function readQueuedPrompts(server: ComfyServer, options: CallOptions): Promise<QueuedPrompt[]> {
  const { queue_running: running, queue_pending: pending } = await askQueue(server, options);
  return [...running, ...pending].map(([, promptId, graph]) => ({ promptId, graph }));
}

async function askQueue(server: ComfyServer, options: CallOptions): Promise<z.infer<typeof queueSchema>> {
  return jsonOf(await ask(server, { path: "queue", maxBytes: maxQueueBytes }, options), queueSchema);
}
