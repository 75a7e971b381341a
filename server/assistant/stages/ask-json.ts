import type { z } from "zod";
import { type CallFor, callModel, type CallResult, type CallServices } from "./calls.ts";
import { findObjects } from "./loose-json.ts";
import { ModelError, UnreadableJson } from "./model-errors.ts";
import { streamAnswer } from "./stream.ts";
import { loadTokenCounter } from "./tokens.ts";

/** What a prompt makes a model of: a question asks with the active version, a trial with any. */
export interface PromptedCall {
  readonly call: Omit<CallFor, "inputTokens">;
  readonly text: string;
  readonly signal: AbortSignal;
}

/** Asks for JSON of a form about a material. Throws like `callModel`. */
export async function askForJson<T>(
  services: CallServices,
  { call, text: instructions, signal }: PromptedCall,
  { schema: form, material }: { readonly schema: z.ZodType<T>; readonly material: unknown },
): Promise<CallResult<T>> {
  const prompt = JSON.stringify(material);
  const count = await loadTokenCounter();
  const { Output } = await import("ai");
  const inputTokens = count(instructions) + count(prompt);
  return callModel(
    services,
    { ...call, inputTokens },
    {
      signal,
      make: async (settings, progress) => {
        let text = "";
        const { usage, readTokens, isCut } = await streamAnswer(settings, {
          context: { instructions, messages: [{ role: "user", content: prompt }] },
          tools: {},
          maxSteps: 1,
          output: Output.object({ schema: form }),
          progress,
          sink: {
            add: (more) => void (text += more),
            think: () => undefined,
            takeBack: () => void (text = ""),
            noteTool: () => undefined,
          },
        });
        const value = readJson(text, form, { usage, isCut });
        return { value: { value, usage }, usage, readTokens };
      },
    },
  );
}

interface Read {
  readonly usage: CallResult<unknown>["usage"];
  readonly isCut: boolean;
}

/** The first JSON object of a text that has the form. Throws `ModelError`, `invalid_output`. */
function readJson<T>(text: string, form: z.ZodType<T>, { usage, isCut }: Read): T {
  let reason: unknown;
  for (const found of findObjects(text)) {
    const parsed = form.safeParse(found);
    if (parsed.success) return parsed.data;
    reason ??= parsed.error;
  }
  const cause = new UnreadableJson(text, { isCut, cause: reason });
  throw new ModelError("invalid_output", undefined, { cause, usage });
}
