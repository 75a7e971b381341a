/**
 * The engines: each turns one task (kind, parameters, input files) into image files, behind the one interface of port.ts.
 *
 *   local/      runs in a forked child of this process: remove background, upscale, inpaint without a prompt, outfit preview
 *   comfyui/    runs workflows on ComfyUI servers; worker/clients/comfyui is the protocol
 *   iopaint/    runs plugins and the erasing model of IOPaint servers
 *   pictures.ts reads and writes pictures and masks, for local and iopaint
 *
 * Words: a *task* is one run of a job; a *submission* is what an earlier attempt posted to a server, which is *adopted*
 * instead of posted again; a *stage* is a key of the message catalogue `stages`.
 *
 * Not here: an engine writes no row and knows no lease (run-job.ts passes callbacks), chooses no queue, and writes files
 * only below `workDir`. The web process never imports this folder.
 */
import type { Config, Logger } from "@atelier/server/platform";
import type { ServerPool } from "../servers/index.ts";
import { createComfyuiEngine } from "./comfyui/engine.ts";
import { createIopaintEngine } from "./iopaint/engine.ts";
import type { Engine } from "./port.ts";

interface ServerEnginesInput {
  readonly pool: ServerPool;
  readonly config: Config;
  readonly log: Logger;
}

/** The engines that use servers. */
export function createServerEngines({ pool, config }: ServerEnginesInput): Engine[] {
  const { lostRunMs } = config.timing;
  return [createComfyuiEngine({ pool }), createIopaintEngine({ pool, abandonMs: lostRunMs })];
}

export type { Engine, EngineContext, EngineOutput, EngineTask, MakePreview, ServerLease } from "./port.ts";
export { pasteWhole } from "./paste.ts";
export { createLocalEngine } from "./local/engine.ts";
export { jobOfRun } from "./comfyui/on-server.ts";
