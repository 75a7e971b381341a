import type { Handle } from "./call.ts";
import { createImageFromPrompt } from "./create-image-from-prompt.ts";
import { readHealth } from "./handlers.ts";
import { readStatus } from "./read-status.ts";
import { sendResult } from "./send-result.ts";

interface Route {
  readonly method: "GET" | "POST";
  /** Its first group is the id. */
  readonly path: RegExp;
  readonly handle: Handle;
}

export const routes: readonly Route[] = [
  { method: "POST", path: /^\/CreateImageFromPrompt$/, handle: createImageFromPrompt },
  { method: "GET", path: /^\/status\/([^/]+)$/, handle: readStatus },
  { method: "GET", path: /^\/result\/([^/]+)$/, handle: sendResult },
  { method: "GET", path: /^\/health$/, handle: readHealth },
];
