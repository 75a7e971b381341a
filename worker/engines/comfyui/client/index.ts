export { adoptPrompt, runPrompt, type RunPromptInput } from "./run.ts";
export { cancelPrompt, postPrompt, type Prompt } from "./post.ts";
export {
  deleteQueued,
  findPrompt,
  type PromptPlace,
  freeMemory,
  readHistory,
  type HistoryEntry,
  readObjectInfo,
  type NodeInfo,
  readQueue,
  readQueuedPrompts,
  type QueuedPrompt,
  type ServerQueue,
  readQueueLength,
  readSystemStats,
  type ComfyDevice,
  type SystemStats,
  uploadImage,
  type Upload,
  viewImage,
  type View,
} from "./routes.ts";
export type { CallOptions, ComfyServer, OutputFile, PromptGraph, ServerFile } from "./http.ts";
