import { z } from "zod";
import { foreignCount } from "@atelier/server/platform";
import { ask, jsonOf } from "./ask.ts";
import type { CallOptions, ComfyServer } from "./comfy-server.ts";

const queueLengthSchema = z.object({ exec_info: z.object({ queue_remaining: foreignCount }) });

/** Prompts that run and wait on the server, whoever sent them. */
export async function readQueueLength(server: ComfyServer, options: CallOptions): Promise<number> {
  return jsonOf(await ask(server, { path: "prompt" }, options), queueLengthSchema).exec_info.queue_remaining;
}
