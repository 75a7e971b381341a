import { wordsFor } from "../../accounts/plain.ts";
import { eq } from "drizzle-orm";
import { type AnswerPart, type QuestionContext, schema } from "../../db/index.ts";
import { searchImages } from "../../images/index.ts";
import type { Submitter } from "../../jobs/index.ts";
import { AppError } from "../../platform/index.ts";
import type { Services } from "../../services.ts";
import { stageModel, type StageModel } from "../models.ts";
import { readPrompt } from "../prompts.ts";
import { readUsed } from "../read.ts";
import { QuestionLost } from "../recover.ts";
import { type Answer, leaseOf, type QuestionRow, storePartialAnswer } from "../life.ts";
import { assemble } from "./assemble.ts";
import { tallySteps } from "./call-costs.ts";
import { callModel } from "./calls.ts";
import { ModelError } from "./model-errors.ts";
import { type AnswerSink, streamAnswer, type Streamed } from "./stream.ts";
import { loadTokenCounter } from "./tokens.ts";
import type { Shown } from "./tools.ts";

const tellMs = 60;
const storeMs = 1_000;

export interface RespondInput {
  /** Ends the stage without an answer. */
  readonly signal: AbortSignal;
  /** The user wants no more: what there is of the answer is the answer. */
  readonly stop: AbortSignal;
}

/** Answers a question by the strong model, told and stored as it grows; without a model by what the search finds. */
export async function respond(services: Services, run: QuestionRow, input: RespondInput): Promise<Answer> {
  const { context } = run;
  if (!context) throw new AppError("internal", "The run has no context.");
  const model = stageModel(services, "responder");
  if (!model) return respondByRule(services, run);
  const ends = watchEnds(input);
  let given = context;
  for (let share = 1 / 2; ; share /= 2) {
    try {
      return await answer(services, { run, model, context: given, ends });
    } catch (error) {
      if (!isPerhapsTooLong(error) || share < leastShare) throw error;
      services.log.warn({ err: error, share }, "a context may be too long for the model, asking with less");
      given = await assemble(services, run, share);
    }
  }
}

/** The context is asked for with a half and a quarter of its tokens. */
const leastShare = 1 / 4;

/** A server that refuses what is too long says so in its own words, or as it refuses anything. */
function isPerhapsTooLong(error: unknown): boolean {
  return error instanceof ModelError && error.class === "over_limit";
}

interface Ends {
  /** Ends the stage without an answer. */
  readonly signal: AbortSignal;
  readonly stop: AbortSignal;
  /** What the row said when the answer was stored last. */
  note(stored: Awaited<ReturnType<typeof storePartialAnswer>>): void;
}

/** The notice of a stop or of another worker may be lost: the row says it, too. */
function watchEnds({ signal, stop }: RespondInput): Ends {
  const lost = new AbortController();
  const stopped = new AbortController();
  return {
    signal: AbortSignal.any([signal, lost.signal]),
    stop: AbortSignal.any([stop, stopped.signal]),
    note({ isHeld, isStopped }) {
      if (!isHeld) lost.abort(new QuestionLost());
      else if (isStopped) stopped.abort(new Error("the user stopped the answer"));
    },
  };
}

interface Answering {
  readonly run: QuestionRow;
  readonly model: StageModel;
  readonly context: QuestionContext;
  readonly ends: Ends;
}

async function answer(services: Services, { run, model, context, ends }: Answering): Promise<Answer> {
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
    signal: ends.signal,
    make: async (settings, progress) => {
      const growing = startAnswer(services, run, ends);
      const abortSignal = AbortSignal.any([settings.abortSignal, ends.stop]);
      const tools = toolsFor(services, { run, submitter, show: (part) => growing.show(part) });
      const written = () => {
        const { text, thinking } = growing.answer();
        return count(text) + count(thinking);
      };
      const tally = tallySteps({ progress, written, inputTokens: call.inputTokens });
      const streaming = { context, tools, maxSteps, progress: tally.progress, sink: growing };
      let streamed: Streamed | undefined;
      try {
        streamed = await streamAnswer({ ...settings, abortSignal }, streaming);
        if (streamed.isCut) growing.noteCut();
      } catch (error) {
        if (!ends.stop.aborted) throw error;
      } finally {
        await growing.end();
      }
      settings.abortSignal.throwIfAborted();
      const value = growing.answer();
      if (streamed && isEmpty(value)) throw emptyAnswer(value, streamed, model);
      const { inputTokens, outputTokens } = streamed?.usage ?? {};
      const isKnown = inputTokens !== undefined && outputTokens !== undefined;
      const usage = isKnown ? { inputTokens, outputTokens } : tally.usage();
      return { value, usage, readTokens: streamed?.readTokens };
    },
  });
}

const isEmpty = ({ text, parts }: Answer) => text.trim() === "" && parts.length === 0;

function emptyAnswer({ thinking }: Answer, { usage, isCut }: Streamed, { maxOutputTokens }: StageModel) {
  const isThought = thinking.trim() !== "";
  const message = !isThought
    ? undefined
    : isCut
      ? `The language model spent all of its ${maxOutputTokens} tokens on thinking and gave no answer. Ask something smaller; the admin can raise assistant.responder.maxOutputTokens.`
      : "The language model thought, and then gave no answer. Ask again, or in other words.";
  return new ModelError("empty", message, { usage });
}

interface GrowingAnswer extends AnswerSink {
  noteCut(): void;
  show(part: Shown): void;
  answer(): Answer;
  /** Tells the rest, and waits for what is being stored; the rest itself is stored by who completes the question. */
  end(): Promise<void>;
}

const blanksBefore = (text: string) => text.length - text.trimStart().length;

/** Collects an answer; every 60 ms its new words are told to the pages, every second it is stored. */
function startAnswer(services: Services, run: QuestionRow, ends: Ends): GrowingAnswer {
  const { id, attempt } = run;
  const parts: AnswerPart[] = [];
  let text = "";
  let thinking = "";
  /** Where the words begin that may still turn out to be thinking. */
  let turnAt = 0;
  let toldLength = 0;
  let usesTools = false;
  let writing: Promise<unknown> = Promise.resolve();
  const afterEarlier = (work: () => Promise<unknown>) => {
    writing = writing.then(work).catch((error: unknown) => {
      services.log.debug({ err: error, runId: id }, "a part of an answer could not be stored");
    });
  };
  const tell = () => {
    if (text.length === toldLength) return;
    const words = { runId: id, attempt, at: toldLength, text: text.slice(toldLength) };
    toldLength = text.length;
    services.hints.publish({ type: "answer", words });
  };
  const store = () => {
    const partial = { answer: text, thinking, parts: [...parts] };
    afterEarlier(async () => ends.note(await storePartialAnswer(services, leaseOf(run), partial)));
  };
  const telling = setInterval(tell, tellMs);
  const storing = setInterval(store, storeMs);
  return {
    add(words) {
      text += words.replaceAll("\0", "");
    },
    think(words) {
      thinking += words.replaceAll("\0", "");
    },
    takeBack() {
      text = text.slice(0, turnAt);
      if (toldLength <= text.length) return;
      toldLength = text.length;
      services.hints.publish({ type: "answer", words: { runId: id, attempt, at: toldLength, text: "" } });
    },
    noteCut() {
      if (text.trim() !== "") text += " …";
    },
    show(part) {
      // Safe: each kind of part gets its own place.
      parts.push({ ...part, at: text.length } as AnswerPart);
      store();
    },
    noteTool() {
      // Its words may come from pictures or files.
      usesTools = true;
      turnAt = text.length;
    },
    answer: () => ({
      text: text.trimStart().toWellFormed(),
      // Their places are in the text as it is told, with the blanks before its first word.
      parts: parts.map((part) => ({ ...part, at: Math.max(0, part.at - blanksBefore(text)) })),
      thinking: thinking.trim().toWellFormed(),
      isRecalled: !usesTools,
    }),
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
async function respondByRule(services: Services, run: QuestionRow): Promise<Answer> {
  const words = (run.analysis?.searchKeywords ?? []).filter((word) => word.length > 2);
  const pictures =
    words.length > 0 ? await searchImages(services, { ownerId: run.ownerId, words, limit: maxShown }) : [];
  const used = await readUsed(services, { ownerId: run.ownerId, id: run.id });
  const remembered = used.map(({ to, text: line }) => `- ${to.slice(0, 10)}: ${line}`);
  const { t } = await wordsFor(services, run.ownerId);
  const found = [
    remembered.length > 0
      ? `${t("assistant.byRule.talks")}\n${remembered.join("\n")}`
      : t("assistant.byRule.noTalks"),
    pictures.length > 0
      ? t("assistant.byRule.gallery", { count: pictures.length })
      : t("assistant.byRule.noPictures"),
  ];
  const text = [t("assistant.byRule.intro"), ...found].join("\n\n");
  const parts: AnswerPart[] =
    pictures.length > 0 ? [{ type: "images", at: text.length, imageIds: pictures.map(({ id }) => id) }] : [];
  return { text, parts, thinking: "", isRecalled: false };
}
