import { ask, requireDone } from "./ask.ts";
import type { CallOptions, ComfyServer } from "./comfy-server.ts";

/** Takes a waiting prompt out of the queue; a running or unknown one is left alone. */
export async function deleteQueued(
  server: ComfyServer,
  promptId: string,
  options: CallOptions,
): Promise<void> {
  requireDone(await ask(server, { path: "queue", json: { delete: [promptId] } }, options));
}
