import { z } from "zod";
import { isStorable, pictureLimits } from "../platform/index.ts";
import type { Services } from "../services.ts";
import { requireCallRate } from "./call-rate.ts";

export const improveSchema = z.strictObject({
  prompt: z
    .string()
    .trim()
    .min(1)
    .max(pictureLimits.promptCharacters)
    .refine(isStorable, "must be plain text"),
});

export interface ImproveInput extends z.output<typeof improveSchema> {
  /** Who asked, and pays. */
  readonly ownerId: string;
  readonly signal: AbortSignal;
}

/** A better prompt, to be accepted or not; or why there is none. */
export type Improvement =
  | { readonly prompt: string; readonly problem: null }
  | { readonly prompt: null; readonly problem: string };

/** Calls of one user; above it a request is refused. */
const maxCallsPerMinute = 10;

/**
 * Asks the model of answers for a better prompt, once, and only because the user pressed a button; the prompt alone is sent.
 * It works in the process that asks, and ends with the signal of the request. Throws `rate_limited`.
 */
export async function improvePrompt(services: Services, input: ImproveInput): Promise<Improvement> {
  await requireRate(services, input.ownerId);
  // Loaded with the first use: the packages of the models take time and memory.
  const { askForBetter } = await import("./stages/better.ts");
  return askForBetter(services, input);
}

const requireRate = (services: Services, ownerId: string) =>
  requireCallRate(services, {
    ownerId,
    stage: "improvement",
    most: maxCallsPerMinute,
    refusal: "Too many prompts were improved in this minute. Wait a moment.",
  });
