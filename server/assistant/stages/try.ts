import { streamMs } from "../../platform/index.ts";
import type { Services } from "../../services.ts";
import { findStageModel, type StageModel } from "../models.ts";
import { readPrompt } from "../prompts.ts";
import { readTimeZone } from "../settings.ts";
import type { Trial, TrialInput, TrialOutcome, TrialSide, TriedPrompt } from "../trial.ts";
import { analyzeByRule, askAnalyzer, collectMaterial } from "./analyze.ts";
import { askArchivist } from "./archive.ts";
import { buildContext, findMemory } from "./assemble.ts";
import type { PromptedCall } from "./ask-json.ts";
import { costOf } from "./call-costs.ts";
import { callModel, type CallResult } from "./calls.ts";
import { ModelError, unreadableOf } from "./model-errors.ts";
import { type AnswerSink, streamAnswer } from "./stream.ts";
import { idleTools } from "./tools.ts";

type Made = CallResult<TrialOutcome>;
type Question = Exclude<Trial, { role: "archivist" }>;
type Talk = Extract<Trial, { role: "archivist" }>;

/** What one prompt makes of the sample. */
type Attempt = (prompt: TriedPrompt) => Promise<Made>;

/** Gives all prompts the same sample at the same time. */
export async function runTrial(
  services: Services,
  input: TrialInput,
  prompts: readonly TriedPrompt[],
): Promise<TrialSide[]> {
  const { trial, signal } = input;
  if (trial.role === "assembler") {
    const attempt = assembling(services, trial, input);
    return tryAll(prompts, { services, signal, model: null, attempt });
  }
  const found = findStageModel(services, trial.role);
  if ("problem" in found)
    return prompts.map((prompt) => sideOf(prompt, { outcome: { type: "no_model", ...found }, ms: 0 }));
  // In a function a request must not outlive the limit of the platform.
  const model = { ...found, longestMs: Math.min(found.longestMs, streamMs(services.env)) };
  return tryAll(prompts, { services, signal, model, attempt: attemptFor(services, input, model) });
}

interface Trying {
  readonly services: Services;
  readonly signal: AbortSignal;
  /** Null for the assembler, which calls none. */
  readonly model: StageModel | null;
  readonly attempt: Attempt;
}

/** Ends when all have ended, also after a fault of one: a function is frozen once it has answered. */
async function tryAll(prompts: readonly TriedPrompt[], trying: Trying): Promise<TrialSide[]> {
  const settled = await Promise.allSettled(prompts.map((prompt) => tryOne(prompt, trying)));
  return settled.map((side) => {
    if (side.status === "rejected") throw side.reason;
    return side.value;
  });
}

async function tryOne(prompt: TriedPrompt, { services, signal, model, attempt }: Trying): Promise<TrialSide> {
  const startedMs = performance.now();
  const end = (outcome: TrialOutcome, usage: Made["usage"] | null, errorClass: string | null = null) => {
    const usd = model && costOf(model.price, usage, errorClass);
    const isKnown = usd === 0 || model?.price.isKnown === true;
    return sideOf(prompt, {
      outcome,
      ms: performance.now() - startedMs,
      inputTokens: usage?.inputTokens ?? null,
      outputTokens: usage?.outputTokens ?? null,
      usd: isKnown ? usd : null,
    });
  };
  try {
    const { value, usage } = await attempt(prompt);
    return end(value, usage);
  } catch (error) {
    if (signal.aborted) return end({ type: "cancelled" }, null);
    if (!(error instanceof ModelError)) throw error;
    const unreadable = unreadableOf(error);
    if (unreadable) return end({ type: "unreadable", ...unreadable }, error.usage, error.class);
    services.log.warn({ err: error, promptVersion: prompt.version }, "a trial of a prompt failed");
    return end({ type: "failed", class: error.class, message: error.message }, error.usage, error.class);
  }
}

function sideOf(
  { version }: TriedPrompt,
  known: Pick<TrialSide, "outcome" | "ms"> & Partial<TrialSide>,
): TrialSide {
  return { inputTokens: null, outputTokens: null, usd: null, ...known, version };
}

const uncounted = { inputTokens: undefined, outputTokens: undefined };

function attemptFor(services: Services, input: TrialInput, model: StageModel): Attempt {
  const { trial, ownerId, signal } = input;
  const promptedOf = ({ version, text }: TriedPrompt): PromptedCall => ({
    call: { runId: null, ownerId, stage: "trial", model, promptVersion: version, tries: 1 },
    text,
    signal,
  });
  if (trial.role === "archivist") return archiving(services, trial, promptedOf);
  return trial.role === "analyzer"
    ? analyzing(services, { ...trial, ownerId, signal }, promptedOf)
    : responding(services, { trial, input }, promptedOf);
}

type PromptedOf = (prompt: TriedPrompt) => PromptedCall;

function analyzing(
  services: Services,
  asked: Question & Pick<TrialInput, "ownerId" | "signal">,
  promptedOf: PromptedOf,
): Attempt {
  const reading = collectMaterial(services, { ...asked, runId: null });
  return async (prompt) => {
    const { value, usage } = await askAnalyzer(services, promptedOf(prompt), await reading);
    const { isByRule: _, ...analysis } = value;
    return { value: { type: "analysis", analysis }, usage };
  };
}

function archiving(services: Services, { lines }: Talk, promptedOf: PromptedOf): Attempt {
  const at = new Date().toISOString();
  const material = { messages: lines.map((text) => ({ at, text })), jobs: [] };
  return async (prompt) => {
    const { value, usage } = await askArchivist(services, promptedOf(prompt), material);
    return { value: { type: "memory", memory: value }, usage };
  };
}

function assembling(services: Services, trial: Question, input: TrialInput): Attempt {
  const reading = Promise.all([readPrompt(services, "responder"), readContext(services, trial, input)]);
  return async (assembler) => {
    const [responder, material] = await reading;
    const built = await buildContext(services, { responder, assembler }, material);
    return { value: { type: "context", ...built }, usage: uncounted };
  };
}

/** The tools do nothing: a call of one ends the answer, and the admin reads which it was. */
function responding(
  services: Services,
  { trial, input }: { readonly trial: Question; readonly input: TrialInput },
  promptedOf: PromptedOf,
): Attempt {
  const reading = Promise.all([readPrompt(services, "assembler"), readContext(services, trial, input)]);
  return async (responder) => {
    const [assembler, material] = await reading;
    const { context } = await buildContext(services, { responder, assembler }, material);
    const { call, signal } = promptedOf(responder);
    return callModel<Made>(
      services,
      { ...call, inputTokens: context.tokens.total },
      {
        signal,
        make: async (settings, progress) => {
          const { sink, answer } = collectAnswer();
          const streaming = { context, tools: idleTools(), maxSteps: 1, progress, sink };
          const { usage } = await streamAnswer(settings, streaming);
          return { value: { value: answer(), usage }, usage };
        },
      },
    );
  };
}

function collectAnswer(): { readonly sink: AnswerSink; readonly answer: () => TrialOutcome } {
  let text = "";
  const toolCalls: { readonly name: string; readonly input: unknown }[] = [];
  const sink: AnswerSink = {
    add: (more) => void (text += more),
    think: () => undefined,
    takeBack: () => void (text = ""),
    noteTool: ({ toolName, input }) => void toolCalls.push({ name: toolName, input }),
  };
  return { sink, answer: () => ({ type: "answer", text, toolCalls }) };
}

/**
 * What memory and talk have for the question, found by rules: no model is needed, and all prompts get the same. The talk is
 * not stored, so none of the memory is of it.
 */
async function readContext(
  services: Services,
  { question, turns }: Question,
  { ownerId, signal }: TrialInput,
) {
  const analysis = analyzeByRule(question);
  const [hits, timeZone] = await Promise.all([
    findMemory(services, { ownerId, conversationId: null, question, analysis, signal }),
    readTimeZone(services, ownerId),
  ]);
  const talk = [...turns, { role: "user" as const, text: question }];
  return { turns: talk.map(({ role, text: content }) => ({ role, content })), hits, timeZone };
}
