import { z } from "zod";
import type { QuestionAnalysis } from "../db/index.ts";
import { isStorable } from "../platform/index.ts";
import type { Services } from "../services.ts";
import type { NewMemory } from "./archive-log.ts";
import { maxQuestionLength } from "./ask.ts";
import { requireCallRate } from "./call-rate.ts";
import { promptText, readPrompt, readVersion } from "./prompts.ts";
import type { BuiltContext } from "./stages/assemble.ts";

const words = z.string().trim().min(1).max(maxQuestionLength).refine(isStorable, "must be plain text");
const turn = z.strictObject({ role: z.enum(["user", "assistant"]), text: words });

/** A version, or a draft that is not stored. */
const candidate = z.union([
  z.strictObject({ version: z.int32().min(1) }),
  z.strictObject({ text: promptText }),
]);

/** What is tried with which sample: a question after some turns, or for the archivist what the user said in a talk. */
export const trialSchema = z.discriminatedUnion("role", [
  z.strictObject({
    role: z.enum(["analyzer", "assembler", "responder"]),
    candidate,
    question: words,
    turns: z.array(turn).max(40).default([]),
  }),
  z.strictObject({ role: z.literal("archivist"), candidate, lines: z.array(words).min(1).max(100) }),
]);

export type Trial = z.output<typeof trialSchema>;

/** What a prompt made of the sample. */
export type TrialOutcome =
  | { readonly type: "analysis"; readonly analysis: Omit<QuestionAnalysis, "isByRule"> }
  /** Null: nothing is worth remembering. */
  | { readonly type: "memory"; readonly memory: NewMemory | null }
  | ({ readonly type: "context" } & BuiltContext)
  | { readonly type: "answer"; readonly text: string; readonly toolCalls: readonly ToolCall[] }
  /** The answer has not the form that was asked for. */
  | { readonly type: "unreadable"; readonly text: string; readonly reason: string }
  | { readonly type: "failed"; readonly class: string; readonly message: string }
  | { readonly type: "no_model"; readonly problem: string }
  | { readonly type: "cancelled" };

interface ToolCall {
  readonly name: string;
  readonly input: unknown;
}

export interface TrialSide {
  /** Null is the draft. */
  readonly version: number | null;
  readonly outcome: TrialOutcome;
  readonly ms: number;
  /** What the model counted; null without a call, and when it named nothing. */
  readonly inputTokens: number | null;
  readonly outputTokens: number | null;
  /** US dollars; null when the price is not known, or the answer was lost. */
  readonly usd: number | null;
}

/** A side whose prompt is known. */
export interface TriedPrompt {
  readonly version: number | null;
  readonly text: string;
}

export interface TrialInput {
  readonly trial: Trial;
  /** The admin, who sees the own memory alone and pays. */
  readonly ownerId: string;
  readonly signal: AbortSignal;
}

/** Calls of trials of one admin; above it a trial is refused. Each trial makes two at the most. */
const maxCallsPerMinute = 20;

/**
 * Tries a prompt beside the active version: both get the same sample, at the same time, and each calls the model of its
 * stage once. Nothing is stored but the calls; no run begins, so no worker hears of it. It works in the process that asks,
 * since the admin waits for it and may cancel it: the signal of the request ends the calls. A process of the pages that may
 * be frozen or ended stays awake for an open request, and its platform's limit is a limit of the calls, too.
 *
 * The sides are the active version and the candidate; one side when both are the same text. Throws `not_found` for an
 * unknown version and `rate_limited`.
 */
export async function tryPrompt(services: Services, input: TrialInput): Promise<TrialSide[]> {
  const { trial, ownerId } = input;
  const active = await readPrompt(services, trial.role);
  const tried: TriedPrompt =
    "text" in trial.candidate
      ? { version: null, text: trial.candidate.text }
      : await readVersion(services, trial.role, trial.candidate.version);
  await requireRate(services, ownerId);
  // Loaded with the first trial: the packages of the models take time and memory.
  const { runTrial } = await import("./stages/try.ts");
  return runTrial(services, input, tried.text === active.text ? [active] : [active, tried]);
}

/** The assembler calls no model, so only the limit of all writes counts its trials. */
const requireRate = (services: Services, ownerId: string) =>
  requireCallRate(services, {
    ownerId,
    stage: "trial",
    most: maxCallsPerMinute,
    refusal: "Too many trials in this minute. Wait a moment and try again.",
  });
