import { setTimeout as sleep } from "node:timers/promises";
import { z } from "zod";
import { ask, jsonOf, requireDone } from "./ask.ts";
import type { CallOptions, ComfyServer } from "./comfy-server.ts";
import { deleteQueued } from "./delete-queued.ts";
import { readQueue } from "./read-queue.ts";

const cancelPauseMs = 200;
/** A server forgets an interrupt that comes just before it begins with the prompt, so a prompt that goes on gets another. */
const repeatMs = 2_000;

/**
 * Takes one prompt off the server, wherever it is there, and resolves when it waits and runs no more. Other prompts are
 * not touched. Servers notice an interrupt between nodes and sampler steps only, so the caller's signal bounds the wait.
 */
export async function cancelPrompt(
  server: ComfyServer,
  promptId: string,
  options: CallOptions,
): Promise<void> {
  let repeatAtMs = Number.NEGATIVE_INFINITY;
  do {
    if (performance.now() >= repeatAtMs) {
      if (!(await stop(server, promptId, options))) return;
      repeatAtMs = performance.now() + repeatMs;
    } else {
      await sleep(cancelPauseMs, undefined, { signal: options.signal });
    }
  } while (await isOpen(server, promptId, options));
}

/** False when there is nothing to stop. */
async function stop(server: ComfyServer, promptId: string, options: CallOptions): Promise<boolean> {
  if (await cancelJob(server, promptId, options)) return true;
  await deleteQueued(server, promptId, options);
  // Servers of early 2025 and older interrupt whatever runs, so ours must be what runs.
  const { running } = await readQueue(server, options);
  if (!running.includes(promptId)) return false;
  await interrupt(server, promptId, options);
  return true;
}

const cancelled = z.object({ cancelled: z.boolean() });

/** False on servers without the route. */
async function cancelJob(server: ComfyServer, promptId: string, options: CallOptions): Promise<boolean> {
  const answer = await ask(server, { path: `api/jobs/${promptId}/cancel`, json: {} }, options);
  if (answer.status === 404 || answer.status === 405) return false;
  jsonOf(answer, cancelled);
  return true;
}

async function interrupt(server: ComfyServer, promptId: string, options: CallOptions): Promise<void> {
  requireDone(await ask(server, { path: "interrupt", json: { prompt_id: promptId } }, options));
}

async function isOpen(server: ComfyServer, promptId: string, options: CallOptions): Promise<boolean> {
  const { running, pending } = await readQueue(server, options);
  return running.includes(promptId) || pending.includes(promptId);
}
