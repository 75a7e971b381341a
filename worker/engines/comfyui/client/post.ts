import { z } from "zod";
import { AppError } from "@atelier/server/platform";
import { ask, jsonOf, parseJson } from "./ask.ts";
import type { CallOptions, ComfyServer, PromptGraph } from "./comfy-server.ts";
import { cancelPrompt } from "./cancel-prompt.ts";
import { validationFailure, validationSchema } from "./failures.ts";

export interface Prompt {
  readonly graph: PromptGraph;
  /** A lower-case UUID. */
  readonly promptId: string;
  /** Whose socket gets the events. */
  readonly clientId: string;
}

const accepted = validationSchema.extend({ prompt_id: z.string() });

const timeoutMs = 30_000;
const takeBackMs = 5_000;
const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

/**
 * Puts a prompt into the server's queue. Throws `node_missing`, `model_missing`, `input_missing` or `graph_invalid` when
 * the server refuses it; one that it took without some of its outputs, or under another id, is taken back.
 */
export async function postPrompt(server: ComfyServer, prompt: Prompt, options: CallOptions): Promise<void> {
  const { graph, promptId, clientId } = prompt;
  if (!uuid.test(promptId)) throw new AppError("internal", "The id of a prompt is a lower-case UUID.");
  if (Object.values(graph).some(hasUnsafeNumber)) throw new AppError("graph_invalid");
  // Previews are off on most servers; those that do not know the override ignore it.
  const extra = { preview_method: "auto" };
  const json = { prompt: graph, prompt_id: promptId, client_id: clientId, extra_data: extra };
  const answer = await ask(server, { path: "prompt", json }, { timeoutMs, ...options });
  if (answer.status === 400) {
    const refused = validationSchema.safeParse(parseJson(answer.text));
    if (refused.success && refused.data.error) throw validationFailure(refused.data);
  }
  const body = jsonOf(answer, accepted);
  const isKnown = body.prompt_id === promptId;
  if (isKnown && Object.keys(body.node_errors).length === 0) return;
  await takeBack(server, body.prompt_id, options);
  throw isKnown ? validationFailure(body) : tooOld();
}

/** What runs under another id is neither found again nor told of: it would be posted over and over. */
function tooOld(): AppError {
  return new AppError("node_missing", "The server is too old: it does not take the ids of prompts.");
}

/** It may run already; one that outlasts this is not waited for. */
async function takeBack(server: ComfyServer, promptId: string, { signal }: CallOptions): Promise<void> {
  const bounded = AbortSignal.any([signal, AbortSignal.timeout(takeBackMs)]);
  await cancelPrompt(server, promptId, { signal: bounded }).catch(() => signal.throwIfAborted());
}

/** JavaScript reads larger whole numbers of a server or a workflow wrong without a word. */
function hasUnsafeNumber({ inputs }: PromptGraph[string]): boolean {
  return Object.values(inputs).some(
    (value) => typeof value === "number" && Math.abs(value) > Number.MAX_SAFE_INTEGER,
  );
}
