export type { Fault } from "./faults.ts";
export type { ComfyDevice, ComfyMode, ComfyOptions } from "./options.ts";
export { allGraphModels, graphNames, modelsOf, readGraph } from "./server/graph-models.ts";
export type { ComfyStats, PromptStory } from "./server/stats.ts";
export { startComfySimulator, type ComfySimulator } from "./start-comfy-simulator.ts";
