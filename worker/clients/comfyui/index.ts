/**
 * The protocol of one ComfyUI server: post a prompt, follow it to its end, cancel it, read queue, history and nodes.
 *
 * Words: a *prompt* here is ComfyUI's term: one posted graph with its id, not the user's text. The *history* holds ended
 * prompts and is the truth about an end; the *socket* only hints. The *watch* combines socket hints of one prompt
 * (filtered by the *prompt filter*, waiting by the *waker*); the *loss detector* decides when a prompt counts as lost.
 *
 * Life of a prompt (`runPrompt`, `adoptPrompt` in prompt.ts):
 *
 *   socket opened -> post -> pending -> running -> in the history -> files, or the error of the execution
 *                     |         |          |
 *                     |         +----------+--- signal aborts: cancelled on the server, or left there to be adopted
 *                     |         |          |
 *                     |         +----------+--- server is away 5 s, stalls 30 s, or does not know it for 1 s: `server_lost`
 *                     +--- refused: `node_missing`, `model_missing`, `input_missing`, `graph_invalid`
 *
 *   A prompt that was given up may still run: `cancelGivenUp` (post.ts) cancels it in the background, so that it does not
 *   run unused.
 *
 * Files: http.ts sends requests and maps failures of the network; routes.ts has one function per route; post.ts posts and
 * cancels; failures.ts maps ComfyUI's errors to our codes, unfit.ts those of a server that fails every run; socket.ts and
 * watch.ts follow; prompt.ts joins them.
 *
 * Not here: jobs, leases, the choice of a server, retries of a job. Words of a server reach users only as failures.ts
 * cleans them: they may hold paths, keys and prompts.
 */
export { adoptPrompt, runPrompt, type RunPromptInput } from "./prompt.ts";
export { cancelPrompt, isOfOwnIds, postPrompt } from "./post.ts";
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
export { excused, isOfUnfit, suspectNode, unfitFailure } from "./unfit.ts";
export { gatewayCode, refusalText, unreachableText } from "./http.ts";
export { keepSocket, socketFault } from "./socket.ts";
export type { CallOptions, ComfyServer, OutputFile } from "./http.ts";
