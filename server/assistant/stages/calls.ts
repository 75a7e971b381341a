import { setTimeout as sleep } from "node:timers/promises";
import type { LanguageModel } from "ai";
import { and, eq, isNull, sql } from "drizzle-orm";
import { schema } from "../../db/index.ts";
import { persist } from "../../leases/index.ts";
import { backoffMs, isAppError, newId } from "../../platform/index.ts";
import { checkCaps, lockSpend } from "../../providers/index.ts";
import type { Services } from "../../services.ts";
import { ModelError, toModelError } from "./model-errors.ts";
import { costOf, mostUsd, startSteps, type Steps, type Usage } from "./call-costs.ts";
import { learnContext } from "../model-notes.ts";
import { hostOf, type StageModel } from "../models.ts";
import { inCallSpan, openModel } from "./open-model.ts";

const { assistantRuns, modelCalls } = schema;

/** What calls need of a process. */
export type CallServices = Pick<Services, "db" | "env" | "config" | "log"> &
  Partial<Pick<Services, "tracing">>;

export interface CallFor {
  /** Null for calls outside of a question. */
  readonly runId: string | null;
  /** The API key that a call outside of a question follows from: it counts for the key's cap, which does not refuse it. */
  readonly causedByKeyId?: string | null;
  /** Who pays. */
  readonly ownerId: string;
  readonly stage: (typeof modelCalls.$inferSelect)["stage"];
  readonly model: StageModel;
  readonly promptVersion: number | null;
  /** Tokens of all that is sent, as counted here; the price before the call depends on them. */
  readonly inputTokens: number;
  /** The most that the pictures count that are sent with it; 0 without. */
  readonly pictureTokens?: number;
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
  /** Tokens of what was sent, as the server counted them in its first answer. */
  readonly readTokens?: number | undefined;
  readonly usage: Usage;
}

export interface CallProgress {
  /** The first words are there. */
  noteFirstText(): void;
  /** The model is at work: a word, a thought, a part of a call of a tool. */
  noteSign(): void;
  /** The model is asked again, with results of tools. */
  noteTurn(): void;
  /** A step has ended: each one is paid for with all that was said before it. `goesOn`: another one is asked for. */
  noteStep(usage: Usage, goesOn: boolean): void;
}

interface Making<T> {
  readonly signal: AbortSignal;
  readonly make: (settings: CallSettings, progress: CallProgress) => Promise<CallResult<T>>;
}

/**
 * Calls a model for a stage, with its limits of time and money. A call that took too long or could not be made is repeated
 * after a growing pause, a limited one after the wait that the answer asks for; `assistant.tries` in all. Throws
 * `ModelError`, and the signal's reason on abort.
 */
export async function callModel<T>(services: CallServices, call: CallFor, input: Making<T>): Promise<T> {
  const { tries = services.config.assistant.tries } = call;
  for (let number = 1; ; number += 1) {
    try {
      return await callOnce(services, call, { ...input, number });
    } catch (error) {
      input.signal.throwIfAborted();
      if (!(error instanceof ModelError) || number >= tries) throw error;
      const waitMs = pauseAfter(services, call, { error, number });
      if (waitMs === null) throw error;
      services.log.warn(
        { err: error, stage: call.stage, waitMs },
        "a model could not be called, trying again",
      );
      await sleep(waitMs, null, { signal: input.signal });
    }
  }
}

/** The longest wait that an answer may ask for. */
const maxWaitMs = 120_000;

interface Failed {
  readonly error: ModelError;
  readonly number: number;
}

/**
 * The pause before the next try; null for what a repetition does not mend. A server at home that is too late is not asked
 * again: it may have one place, where the next try would wait behind the last one.
 */
function pauseAfter({ config }: CallServices, { model }: CallFor, { error, number }: Failed): number | null {
  const { retryDelayS, rateLimitWaitS } = config.assistant;
  if (error.class === "rate_limited")
    return Math.min(error.retryAfterMs ?? rateLimitWaitS * 1_000, maxWaitMs);
  if (error.class === "timeout" && hostOf(model.id) === "local") return null;
  if (error.class === "not_api" && number > 1) return null;
  if (error.class === "timeout" || error.class === "unavailable" || error.class === "not_api")
    return backoffMs(number, { firstMs: retryDelayS * 1_000 });
  return null;
}

interface Limits {
  readonly signal: AbortSignal;
  /** Whether it has ended the call. */
  readonly isOver: () => "late" | "silent" | null;
  /** The model has given a sign: it may be paid for, however it ends. */
  readonly hasBegun: () => boolean;
  readonly progress: Pick<CallProgress, "noteSign" | "noteTurn">;
  close(): void;
}

/** The limits of a call: for its first sign, for the silence after each one, and for the whole. */
function startLimits({ timeoutMs, silenceMs, longestMs }: StageModel): Limits {
  const over = new AbortController();
  let hasBegun = false;
  let timer: NodeJS.Timeout | undefined;
  const end = () => over.abort(new Error(hasBegun ? "the model fell silent" : "the model did not begin"));
  const wait = (ms: number) => {
    clearTimeout(timer);
    timer = setTimeout(end, ms);
  };
  wait(timeoutMs);
  const whole = setTimeout(end, longestMs);
  return {
    signal: over.signal,
    isOver: () => (over.signal.aborted ? (hasBegun ? "silent" : "late") : null),
    hasBegun: () => hasBegun,
    progress: {
      noteSign() {
        hasBegun = true;
        wait(silenceMs);
      },
      noteTurn: () => wait(Math.max(timeoutMs, silenceMs)),
    },
    close() {
      clearTimeout(timer);
      clearTimeout(whole);
    },
  };
}

async function callOnce<T>(
  services: CallServices,
  call: CallFor,
  { signal, make, number }: Making<T> & { readonly number: number },
): Promise<T> {
  const { model } = call;
  const opened = await openModel(services, model.id);
  const id = await begin(services, call, number);
  const limits = startLimits(model);
  const steps = startSteps(services, { ...call, inputTokens: sentTokensOf(call), id });
  let firstTextAt: Date | null = null;
  let result: CallResult<T>;
  try {
    result = await inCallSpan(services.tracing, call, async () =>
      make(
        {
          model: opened,
          maxOutputTokens: model.maxOutputTokens,
          ...(model.temperature === undefined ? {} : { temperature: model.temperature }),
          abortSignal: AbortSignal.any([signal, limits.signal]),
          maxRetries: 0,
        },
        progressOf(limits, steps, () => (firstTextAt ??= new Date())),
      ),
    );
  } catch (error) {
    const failure = signal.aborted ? error : await toModelError(error, limits.isOver());
    const isKnown = failure instanceof ModelError;
    const known = isKnown ? failure.usage : null;
    const errorClass = isKnown ? failure.class : signal.aborted ? "cancelled" : "unknown";
    const ofCall = limits.hasBegun() && known === null ? null : costOf(model.price, known, errorClass);
    const usage = known ?? steps.usage();
    const costUsd = known === null ? (steps.costUsd(errorClass) ?? ofCall) : ofCall;
    await settle(services, id, { usage, costUsd, firstTextAt, errorClass, signal });
    signal.throwIfAborted();
    throw failure;
  } finally {
    limits.close();
  }
  const { value, usage, readTokens } = result;
  const costUsd = costOf(model.price, usage, null);
  await settle(services, id, { usage, costUsd, firstTextAt, errorClass: null, signal });
  await noteContext(services, call, readTokens);
  return value;
}

/** Tokens that a server counts for a text which has so many by the table here; other tables differ less. */
const leastShare = 0.5;
const shortestCut = 2_000;

/** Notices a server that reads only the end of what it is sent and says nothing, as Ollama does. Never throws. */
async function noteContext(services: CallServices, call: CallFor, readTokens: number | undefined) {
  const { model, inputTokens: sentTokens, pictureTokens = 0 } = call;
  // What pictures count is an upper bound.
  if (pictureTokens > 0) return;
  if (hostOf(model.id) !== "local" || readTokens === undefined || readTokens < 1) return;
  if (sentTokens < shortestCut || readTokens > sentTokens * leastShare) return;
  const isNew = await learnContext(services, model.id, { readTokens, sentTokens }).catch((error: unknown) => {
    services.log.warn({ err: error }, "what a model reads could not be stored");
    return false;
  });
  if (isNew)
    services.log.warn(
      { model: model.id, readTokens, sentTokens },
      "a model reads less than it is sent: give its server a longer context, or lower assistant.contextTokens",
    );
}

const progressOf = (limits: Limits, steps: Steps, noteFirstText: () => void): CallProgress => ({
  ...limits.progress,
  noteFirstText,
  noteStep: steps.noteStep,
  noteSign() {
    limits.progress.noteSign();
    steps.begin();
  },
});

const sentTokensOf = ({ inputTokens, pictureTokens = 0 }: CallFor) => inputTokens + pictureTokens;

/** Stores the intent with the most that its first step can cost, under the caps. */
async function begin(services: CallServices, call: CallFor, number: number): Promise<string> {
  const { runId, causedByKeyId = null, ownerId, stage, model, promptVersion } = call;
  const expectedUsd = mostUsd(model, sentTokensOf(call));
  const id = newId();
  const askedBy = sql`(select api_key_id from ${assistantRuns} where id = ${runId}::uuid)`;
  const apiKeyId = sql`coalesce(${askedBy}, ${causedByKeyId})`;
  const row = { id, runId, apiKeyId, ownerId, stage, try: number, model: model.id, promptVersion };
  try {
    await services.db.transaction(async (tx) => {
      if (expectedUsd > 0) {
        await lockSpend(tx);
        await checkCaps(tx, services.config, { ownerId, apiKeyId: askedBy, priceUsd: expectedUsd });
      }
      await tx.insert(modelCalls).values({ ...row, expectedUsd });
    });
  } catch (error) {
    if (isAppError(error) && error.code === "budget_exceeded")
      throw new ModelError("over_budget", error.message, { cause: error });
    throw error;
  }
  return id;
}

interface Settlement {
  readonly usage: Usage | null;
  readonly costUsd: number | null;
  readonly firstTextAt: Date | null;
  readonly errorClass: string | null;
  readonly signal: AbortSignal;
}

/**
 * Stores what a call cost; the expected cost counts where that is not known. Never throws: what the model answered was paid
 * for, so that no fault of the database may take it.
 */
async function settle(
  services: CallServices,
  id: string,
  { usage, costUsd, firstTextAt, errorClass, signal }: Settlement,
): Promise<void> {
  const [inputTokens, outputTokens] = [usage?.inputTokens ?? null, usage?.outputTokens ?? null];
  const ended = { inputTokens, outputTokens, costUsd, firstTextAt, errorClass };
  const write = () =>
    services.db
      .update(modelCalls)
      .set({ ...ended, endedAt: sql`clock_timestamp()` })
      .where(and(eq(modelCalls.id, id), isNull(modelCalls.endedAt)));
  await persist(write, { signal }).catch((error: unknown) => {
    services.log.warn({ err: error }, "the cost of a call could not be stored, the expected one counts");
  });
}
