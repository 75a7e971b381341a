import { and, count, eq, gt, sql } from "drizzle-orm";
import { z } from "zod";
import { schema } from "../db/index.ts";
import { AppError, isStorable } from "../platform/index.ts";
import type { Services } from "../services.ts";

const { modelCalls } = schema;

const maxCharacters = 4_000;

export const improveSchema = z.strictObject({
  prompt: z.string().trim().min(1).max(maxCharacters).refine(isStorable, "must be plain text"),
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
  await checkRate(services, input.ownerId);
  // Loaded with the first use: the packages of the models take time and memory.
  const { askForBetter } = await import("./stages/better.ts");
  return askForBetter(services, input);
}

async function checkRate({ db }: Services, ownerId: string): Promise<void> {
  const [row] = await db
    .select({ calls: count() })
    .from(modelCalls)
    .where(
      and(
        eq(modelCalls.ownerId, ownerId),
        eq(modelCalls.stage, "improvement"),
        gt(modelCalls.startedAt, sql`clock_timestamp() - interval '1 minute'`),
      ),
    );
  if ((row?.calls ?? 0) < maxCallsPerMinute) return;
  throw new AppError("rate_limited", "Too many prompts were improved in this minute. Wait a moment.");
}
