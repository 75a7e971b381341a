export type { Fault } from "./faults.ts";
export type { ComfyDevice, ComfyMode, ComfyOptions, Guard } from "./options.ts";
export {
  allGraphModels,
  graphNames,
  modelsOf,
  readGraph,
  type ComfyStats,
  type PromptStory,
} from "./server/stats.ts";
export { startComfySimulator, type ComfySimulator } from "./start-comfy-simulator.ts";
