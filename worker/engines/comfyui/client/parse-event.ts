import { z } from "zod";
import { parseJson } from "./ask.ts";

const nodeId = z.union([z.string(), z.number()]).transform(String);
const promptId = z.string().optional();

const nodeState = z.object({ value: z.number(), max: z.number(), state: z.string() });

const event = z.union([
  z.object({
    type: z.literal("feature_flags"),
    data: z.object({ supports_preview_metadata: z.unknown() }),
  }),
  z.object({ type: z.literal("execution_start"), data: z.object({ prompt_id: promptId }) }),
  z.object({
    type: z.literal("execution_cached"),
    data: z.object({ prompt_id: promptId, nodes: z.array(nodeId) }),
  }),
  z.object({
    type: z.literal("executing"),
    data: z.object({ prompt_id: promptId, node: nodeId.nullable() }),
  }),
  z.object({
    type: z.literal("progress"),
    data: z.object({ prompt_id: promptId, node: nodeId.nullish(), value: z.number(), max: z.number() }),
  }),
  z.object({
    type: z.literal("progress_state"),
    data: z.object({ prompt_id: promptId, nodes: z.record(z.string(), nodeState) }),
  }),
  z.object({ type: z.literal("executed"), data: z.object({ prompt_id: promptId, node: nodeId }) }),
  z.object({
    type: z
      .enum(["execution_success", "execution_error", "execution_interrupted"])
      .transform(() => "execution_end" as const),
    data: z.object({ prompt_id: promptId }),
  }),
]);

/** What a server tells about a prompt or, once, of itself. Just after connecting, `executing` comes without the id of the prompt. */
export type PromptEvent = z.infer<typeof event>;

/** The event in a text frame; null for those that are about no prompt and for what cannot be read. */
export function parseEvent(text: string): PromptEvent | null {
  const parsed = event.safeParse(parseJson(text));
  return parsed.success ? parsed.data : null;
}
