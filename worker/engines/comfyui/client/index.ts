export { adoptPrompt, runPrompt, type RunPromptInput } from "./run.ts";
export { cancelPrompt, postPrompt } from "./post.ts";
export {
  freeMemory,
  readObjectInfo,
  readQueuedPrompts,
  readQueueLength,
  readSystemStats,
  type ComfyDevice,
  type SystemStats,
  uploadImage,
  viewImage,
} from "./routes.ts";
export type { CallOptions, ComfyServer, OutputFile } from "./http.ts";
