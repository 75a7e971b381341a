import { eq } from "drizzle-orm";
import type { ModelMessage, ToolSet } from "ai";
import { type AnswerPart, type RunContext, schema } from "../../db/index.ts";
import { searchImages } from "../../images/index.ts";
import type { Submitter } from "../../jobs/index.ts";
import { AppError } from "../../platform/index.ts";
import type { Services } from "../../services.ts";
import { stageModel } from "../models.ts";
import { readPrompt } from "../prompts.ts";
import { readUsed } from "../read.ts";
import { type Answer, leaseOf, type Run, storePartialAnswer } from "../run.ts";
import { tellAnswer } from "../events.ts";
import { callModel, type CallProgress, type CallResult, type CallSettings } from "./calls.ts";
import { loadTokenCounter } from "./tokens.ts";

const tellMs = 60;
const storeMs = 1_000;

export interface RespondInput {
  /** Ends the stage without an answer. */
  readonly signal: AbortSignal;
  /** The user wants no more: what there is of the answer is the answer. */
  readonly stop: AbortSignal;
}

/** Answers a question by the strong model, told and stored as it grows; without a model by what the search finds. */
export async function respond(services: Services, run: Run, input: RespondInput): Promise<Answer> {
  const { context } = run;
  if (!context) throw new AppError("internal", "The run has no context.");
  const model = stageModel(services, "responder");
  if (!model) return respondByRule(services, run);
  const [submitter, prompt, count] = await Promise.all([
    readSubmitter(services, run.ownerId),
    readPrompt(services, "responder"),
    loadTokenCounter(),
  ]);
  const call = {
    runId: run.id,
    ownerId: run.ownerId,
    stage: "responder",
    model,
    promptVersion: prompt.version,
    inputTokens: context.tokens.total,
  } as const;
  const { toolsFor } = await import("./tools.ts");
  const { maxSteps } = services.config.assistant;
  return callModel(services, call, {
    signal: input.signal,
    make: async (settings, progress) => {
      const growing = startAnswer(services, run);
      const abortSignal = AbortSignal.any([settings.abortSignal, input.stop]);
      const tools = toolsFor(services, { run, submitter, show: (part) => growing.show(part) });
      const streaming = { context, tools, maxSteps, progress, sink: growing };
      let usage: CallResult<unknown>["usage"] | undefined;
      try {
        usage = await streamAnswer({ ...settings, abortSignal }, streaming);
      } catch (error) {
        if (!input.stop.aborted) throw error;
      } finally {
        await growing.end();
      }
      settings.abortSignal.throwIfAborted();
      // A stopped answer names no figures.
      usage ??= { inputTokens: call.inputTokens, outputTokens: count(growing.answer().text) };
      return { value: growing.answer(), usage };
    },
  });
}

/** What becomes of an answer while it grows. */
export interface AnswerSink {
  add(text: string): void;
  noteTool(call: { readonly toolName: string; readonly input: unknown }): void;
}

interface Streaming {
  readonly context: Pick<RunContext, "instructions" | "messages">;
  readonly tools: ToolSet;
  readonly maxSteps: number;
  readonly progress: CallProgress;
  readonly sink: AnswerSink;
}

/** Asks the model for an answer and gives its words to the sink as they come; returns what the model counted. */
export async function streamAnswer(
  settings: CallSettings,
  { context: { instructions, messages }, tools, maxSteps, progress, sink }: Streaming,
): Promise<CallResult<unknown>["usage"]> {
  const { isStepCount, streamText } = await import("ai");
  const stream = streamText({
    ...settings,
    instructions,
    messages: messages as ModelMessage[],
    tools,
    stopWhen: isStepCount(maxSteps),
    onError: () => undefined,
  });
  for await (const part of stream.stream) {
    if (part.type === "error") throw part.error;
    if (part.type === "tool-call") sink.noteTool(part);
    if (part.type !== "text-delta") continue;
    progress.noteFirstText();
    sink.add(part.text);
  }
  settings.abortSignal.throwIfAborted();
  return stream.totalUsage;
}

interface GrowingAnswer extends AnswerSink {
  show(part: Unplaced): void;
  answer(): Answer;
  /** Tells and stores the rest. */
  end(): Promise<void>;
}

type Unplaced =
  | Omit<Extract<AnswerPart, { type: "images" }>, "at">
  | Omit<Extract<AnswerPart, { type: "proposal" }>, "at">;

/** Collects an answer; every 60 ms its new words are told to the pages, every second it is stored. */
function startAnswer(services: Services, run: Run): GrowingAnswer {
  const { id, ownerId, attempt } = run;
  const parts: AnswerPart[] = [];
  let text = "";
  let toldLength = 0;
  let usesTools = false;
  let writing: Promise<unknown> = Promise.resolve();
  const inTurn = (work: () => Promise<unknown>) => {
    writing = writing.then(work).catch((error: unknown) => {
      services.log.debug({ err: error, runId: id }, "a part of an answer could not be stored");
    });
  };
  const tell = () => {
    if (text.length === toldLength) return;
    const news = { at: toldLength, text: text.slice(toldLength) };
    toldLength = text.length;
    inTurn(() => tellAnswer(services, { type: "answer", id, ownerId, attempt, ...news }));
  };
  const store = () => {
    const partial = { answer: text, parts: [...parts] };
    inTurn(() => storePartialAnswer(services, leaseOf(run), partial));
  };
  const telling = setInterval(tell, tellMs);
  const storing = setInterval(store, storeMs);
  return {
    add(words) {
      text += words;
    },
    show(part) {
      // Safe: each kind of part gets its own place.
      parts.push({ ...part, at: text.length } as AnswerPart);
      store();
    },
    noteTool() {
      // Its words may come from pictures or files.
      usesTools = true;
    },
    answer: () => ({ text, parts: [...parts], isRecalled: !usesTools }),
    async end() {
      clearInterval(telling);
      clearInterval(storing);
      tell();
      await writing;
    },
  };
}

async function readSubmitter({ db }: Services, ownerId: string): Promise<Submitter> {
  const { users } = schema;
  const [user] = await db.select({ isAnonymous: users.isAnonymous }).from(users).where(eq(users.id, ownerId));
  if (!user) throw new AppError("not_found");
  return { userId: ownerId, isGuest: user.isAnonymous === true };
}

const maxShown = 8;

/** Without a model: says so, and shows what memory and gallery have about the words of the question. */
async function respondByRule(services: Services, run: Run): Promise<Answer> {
  const words = (run.analysis?.searchKeywords ?? []).filter((word) => word.length > 2);
  const pictures =
    words.length > 0 ? await searchImages(services, { ownerId: run.ownerId, words, limit: maxShown }) : [];
  const used = await readUsed(services, { ownerId: run.ownerId, id: run.id });
  const remembered = used.map(({ to, text: line }) => `- ${to.slice(0, 10)}: ${line}`);
  const intro =
    "No language model is set up, so I cannot talk. I can search: this is what your studio has about your question.";
  const found = [
    remembered.length > 0
      ? `From earlier talks:\n${remembered.join("\n")}`
      : "Earlier talks have nothing about it.",
    pictures.length > 0
      ? `From your gallery (${pictures.length}):`
      : "No picture of your gallery has these words in its title or prompt.",
  ];
  const text = [intro, ...found].join("\n\n");
  const parts: AnswerPart[] =
    pictures.length > 0 ? [{ type: "images", at: text.length, imageIds: pictures.map(({ id }) => id) }] : [];
  return { text, parts, isRecalled: false };
}
