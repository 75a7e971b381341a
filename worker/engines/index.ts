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

/** The engines that work through servers. */
export function createServerEngines({ pool, config }: ServerEnginesInput): Engine[] {
  const { lostRunMs } = config.timing;
  return [createComfyuiEngine({ pool }), createIopaintEngine({ pool, abandonMs: lostRunMs })];
}

export type { Engine, EngineContext, EngineOutput, EngineTask, MakePreview, ServerLease } from "./port.ts";
export { createLocalEngine } from "./local/engine.ts";
export { jobOfRun } from "./comfyui/run.ts";
