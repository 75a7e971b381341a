import { ask, requireDone } from "./ask.ts";
import type { CallOptions, ComfyServer } from "./comfy-server.ts";

/** Asks the server to unload its models and free its memory; done as soon as it is idle. */
export async function freeMemory(server: ComfyServer, options: CallOptions): Promise<void> {
  const json = { unload_models: true, free_memory: true };
  requireDone(await ask(server, { path: "free", json }, options));
}
