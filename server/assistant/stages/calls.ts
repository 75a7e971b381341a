import { setTimeout as sleep } from "node:timers/promises";
import type { LanguageModel } from "ai";
import { and, eq, isNull, sql } from "drizzle-orm";
import type { z } from "zod";
import { schema } from "../../db/index.ts";
import { isAppError, newId } from "../../platform/index.ts";
import { checkCaps, lockSpend } from "../../providers/index.ts";
import type { Services } from "../../services.ts";
import { ModelError, type ModelErrorClass, toModelError } from "./model-errors.ts";
import { openModel, type StageModel } from "../models.ts";
import { loadTokenCounter } from "./tokens.ts";

const { modelCalls } = schema;

/** What calls need of a process. */
export type CallServices = Pick<Services, "db" | "env" | "config" | "log">;

export interface CallFor {
  /** Null for calls outside of a run. */
  readonly runId: string | null;
  /** Who pays. */
  readonly ownerId: string;
  readonly stage: (typeof modelCalls.$inferSelect)["stage"];
  readonly model: StageModel;
  readonly promptVersion: number | null;
  /** Tokens of all that is sent, as counted here; the price before the call depends on them. */
  readonly inputTokens: number;
  /** Instead of `assistant.tries`. */
  readonly tries?: number;
}

/** What a call needs of the SDK's functions. */
export interface CallSettings {
  readonly model: LanguageModel;
  readonly maxOutputTokens: number;
  readonly temperature?: number;
  readonly abortSignal: AbortSignal;
  /** The SDK repeats nothing: a call that may be paid is counted and repeated here. */
  readonly maxRetries: 0;
}

export interface CallResult<T> {
  readonly value: T;
  readonly usage: { readonly inputTokens: number | undefined; readonly outputTokens: number | undefined };
}

export interface CallProgress {
  /** The first words are there. */
  noteFirstText(): void;
}

/**
 * Calls a model for a stage, with its limits of time and money. A call that took too long or could not be made is repeated
 * after a growing pause, a limited one after the wait that the answer asks for; `assistant.tries` in all. Throws
 * `ModelError`, and the signal's reason on abort.
 */
export async function callModel<T>(
  services: CallServices,
  call: CallFor,
  input: {
    readonly signal: AbortSignal;
    readonly make: (settings: CallSettings, progress: CallProgress) => Promise<CallResult<T>>;
  },
): Promise<T> {
  const { tries = services.config.assistant.tries } = call;
  for (let number = 1; ; number += 1) {
    try {
      return await callOnce(services, call, { ...input, number });
    } catch (error) {
      input.signal.throwIfAborted();
      if (!(error instanceof ModelError) || number >= tries) throw error;
      const waitMs = pauseAfter(services, error, number);
      if (waitMs === null) throw error;
      services.log.warn(
        { err: error, stage: call.stage, waitMs },
        "a model could not be called, trying again",
      );
      await sleep(waitMs, null, { signal: input.signal });
    }
  }
}

/** What a prompt makes a model of: a run asks with the active version, a trial with any. */
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
  const { generateText, Output } = await import("ai");
  const inputTokens = count(instructions) + count(prompt);
  return callModel(
    services,
    { ...call, inputTokens },
    {
      signal,
      make: async (settings) => {
        const output = Output.object({ schema: form });
        const made = await generateText({ ...settings, instructions, prompt, output });
        return { value: { value: made.output, usage: made.usage }, usage: made.usage };
      },
    },
  );
}

/** The longest wait that an answer may ask for. */
const maxWaitMs = 120_000;

/** The pause before the next try; null for what a repetition does not mend. */
function pauseAfter({ config }: CallServices, error: ModelError, number: number): number | null {
  const { retryDelayS, rateLimitWaitS } = config.assistant;
  if (error.class === "rate_limited")
    return Math.min(error.retryAfterMs ?? rateLimitWaitS * 1_000, maxWaitMs);
  if (error.class === "timeout" || error.class === "unavailable")
    return retryDelayS * 1_000 * 2 ** (number - 1);
  return null;
}

async function callOnce<T>(
  services: CallServices,
  call: CallFor,
  {
    signal,
    make,
    number,
  }: {
    readonly signal: AbortSignal;
    readonly make: (settings: CallSettings, progress: CallProgress) => Promise<CallResult<T>>;
    readonly number: number;
  },
): Promise<T> {
  const { model } = call;
  const id = await begin(services, call, number);
  const limit = AbortSignal.timeout(model.timeoutMs);
  let firstTextAt: Date | null = null;
  try {
    const { value, usage } = await make(
      {
        model: await openModel(services.env, model.id),
        maxOutputTokens: model.maxOutputTokens,
        ...(model.temperature === undefined ? {} : { temperature: model.temperature }),
        abortSignal: AbortSignal.any([signal, limit]),
        maxRetries: 0,
      },
      { noteFirstText: () => (firstTextAt ??= new Date()) },
    );
    await settle(services, id, { call, usage, firstTextAt, errorClass: null });
    return value;
  } catch (error) {
    const failure = signal.aborted ? error : toModelError(error, { isTimeout: limit.aborted });
    const isKnown = failure instanceof ModelError;
    await settle(services, id, {
      call,
      usage: isKnown ? failure.usage : null,
      firstTextAt,
      errorClass: isKnown ? failure.class : signal.aborted ? "cancelled" : "unknown",
    });
    signal.throwIfAborted();
    throw failure;
  }
}

const perMillion = 1_000_000;

/** Stores the intent with the most that the call can cost, under the caps. */
async function begin(services: CallServices, call: CallFor, number: number): Promise<string> {
  const { runId, ownerId, stage, model, promptVersion, inputTokens } = call;
  const { inputUsd, outputUsd } = model.price;
  const expectedUsd = (inputTokens * inputUsd + model.maxOutputTokens * outputUsd) / perMillion;
  const id = newId();
  const row = { id, runId, ownerId, stage, try: number, model: model.id, promptVersion, expectedUsd };
  try {
    await services.db.transaction(async (tx) => {
      if (expectedUsd > 0) {
        await lockSpend(tx);
        await checkCaps(tx, services.config, { ownerId, priceUsd: expectedUsd });
      }
      await tx.insert(modelCalls).values(row);
    });
  } catch (error) {
    if (isAppError(error) && error.code === "budget_exceeded")
      throw new ModelError("over_budget", error.message, { cause: error });
    throw error;
  }
  return id;
}

interface Settlement {
  readonly call: CallFor;
  readonly usage: CallResult<unknown>["usage"] | null;
  readonly firstTextAt: Date | null;
  readonly errorClass: string | null;
}

const unpaid: readonly (string | null)[] = [
  "rate_limited",
  "refused",
  "over_limit",
  "unavailable",
  "over_budget",
] satisfies ModelErrorClass[];

/**
 * What a call cost, US dollars: by the tokens that the model names, nothing when it was refused; null when the answer is
 * lost.
 */
export function costOf(
  { inputUsd, outputUsd }: StageModel["price"],
  usage: CallResult<unknown>["usage"] | null,
  errorClass: string | null,
): number | null {
  if (usage?.inputTokens !== undefined && usage.outputTokens !== undefined)
    return (usage.inputTokens * inputUsd + usage.outputTokens * outputUsd) / perMillion;
  return unpaid.includes(errorClass) ? 0 : null;
}

/** Stores what a call cost; the expected cost counts where that is not known. */
async function settle(
  services: CallServices,
  id: string,
  { call, usage, firstTextAt, errorClass }: Settlement,
): Promise<void> {
  await services.db
    .update(modelCalls)
    .set({
      inputTokens: usage?.inputTokens ?? null,
      outputTokens: usage?.outputTokens ?? null,
      costUsd: costOf(call.model.price, usage, errorClass),
      firstTextAt,
      errorClass,
      endedAt: sql`clock_timestamp()`,
    })
    .where(and(eq(modelCalls.id, id), isNull(modelCalls.endedAt)));
}
