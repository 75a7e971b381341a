export { createServerEngines, type ServerEnginesInput } from "./create-server-engines.ts";
export type { Engine, EngineContext, EngineOutput, EngineTask, MakePreview, ServerLease } from "./port.ts";
export { createLocalEngine, type LocalEngineOptions } from "./local/engine.ts";
export { localStages, type LocalStage } from "./local/stages.ts";
export { jobOfRun } from "./comfyui/name-run.ts";
