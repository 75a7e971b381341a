import { wordsFor } from "../../accounts/plain.ts";
import { eq } from "drizzle-orm";
import { type AnswerPart, type QuestionContext, schema } from "../../db/index.ts";
import { searchImages } from "../../images/index.ts";
import type { Submitter } from "../../jobs/index.ts";
import { AppError } from "../../platform/index.ts";
import type { Services } from "../../services.ts";
import { isCalledNearby, stageModel, type StageModel } from "../models.ts";
import { pictureRecipient, picturesFeature } from "../given.ts";
import { learnRefused } from "../model-notes.ts";
import { readPrompt } from "../prompts.ts";
import { readUsed } from "../read.ts";
import type { Answer, QuestionRow } from "../life.ts";
import { requireSight } from "./ask-picture.ts";
import { assemble } from "./assemble.ts";
import { tallySteps, type Usage } from "./call-costs.ts";
import { callModel } from "./calls.ts";
import { withPictures } from "./given-pictures.ts";
import { type Ends, type RespondInput, startAnswer, watchEnds } from "./growing-answer.ts";
import { ModelError } from "./model-errors.ts";
import { streamAnswer, type Streamed } from "./stream.ts";
import { loadTokenCounter } from "./tokens.ts";

/** Answers a question by the strong model, told and stored as it grows; without a model by what the search finds. */
export async function respond(services: Services, run: QuestionRow, input: RespondInput): Promise<Answer> {
  const { context } = run;
  if (!context) throw new AppError("internal", "The run has no context.");
  const model = stageModel(services, "responder");
  if (!model) return respondByRule(services, run);
  const ends = watchEnds(input);
  let given = await withoutUnseen(services, { run, model, context, ends });
  let share = 1;
  for (;;) {
    try {
      return await answer(services, { run, model, context: given, ends });
    } catch (error) {
      if (showsPictures(given) && isOfPictures(error)) {
        given = await withoutPictures(services, { run, model, share, error });
        continue;
      }
      share /= 2;
      if (!isPerhapsTooLong(error) || share < leastShare) throw error;
      services.log.warn({ err: error, share }, "a context may be too long for the model, asking with less");
      given = await assemble(services, run, { share, shows: share > leastShare ? "question" : "none" });
    }
  }
}

/** The context is asked for with a half and a quarter of its tokens. */
const leastShare = 1 / 4;

const showsPictures = ({ messages }: QuestionContext) =>
  messages.some(({ imageIds = [] }) => imageIds.length > 0);

/** The model takes no pictures, or refuses these: such a call is not paid for. */
const isOfPictures = (error: unknown): error is ModelError =>
  error instanceof ModelError &&
  (error.class === "no_pictures" || (error.class === "refused" && error.reach === "part"));

interface Refused extends Pick<Answering, "run" | "model"> {
  readonly share: number;
  readonly error: ModelError;
}

/** The question with facts of the pictures alone. A model that takes none is asked so from now on. */
async function withoutPictures(services: Services, { run, model, share, error }: Refused) {
  services.log.warn({ err: error.message, model: model.id }, "a model refused pictures, asking without");
  if (error.class === "no_pictures") await noteBlind(services, model.id);
  return assemble(services, run, { share, shows: "none" });
}

async function noteBlind(services: Services, modelId: string): Promise<void> {
  await learnRefused(services, modelId, [picturesFeature]).catch((error: unknown) =>
    services.log.warn({ err: error }, "what a model refused could not be stored"),
  );
}

/**
 * The context without pictures that nobody is to see by now, or that a server of the own network would leave out without a
 * word: its model would make up what it does not see.
 */
async function withoutUnseen(services: Services, { run, model, context, ends }: Answering) {
  if (!showsPictures(context)) return context;
  if ((await pictureRecipient(services)) === context.pictures?.to) {
    if (!isCalledNearby(services, model.id)) return context;
    const { signal, stop } = ends;
    const sender = { model, ownerId: run.ownerId, signal: AbortSignal.any([signal, stop]) };
    const isBlind = await requireSight(services, sender).then(
      () => false,
      (error: unknown) => error instanceof ModelError && error.class === "no_pictures",
    );
    signal.throwIfAborted();
    if (!isBlind) return context;
    await noteBlind(services, model.id);
  }
  return assemble(services, run, { shows: "none" });
}

/** A server that refuses what is too long says so in its own words, or as it refuses anything. */
function isPerhapsTooLong(error: unknown): boolean {
  return error instanceof ModelError && error.class === "over_limit";
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
  const { messages } = context;
  const looking = { messages, ownerId: run.ownerId, modelId: model.id, signal: ends.signal };
  const shown = await withPictures(services, looking);
  const isUnseen = shown.count < (context.pictures?.given ?? 0);
  const asked = { instructions: context.instructions, messages: shown.messages };
  const call = {
    runId: run.id,
    ownerId: run.ownerId,
    stage: "responder",
    model,
    promptVersion: prompt.version,
    inputTokens: context.tokens.total,
    pictureTokens: shown.tokens,
  } as const;
  const { toolsFor } = await import("./tools.ts");
  const { maxSteps } = services.config.assistant;
  return callModel(services, call, {
    signal: ends.signal,
    make: async (settings, progress) => {
      const growing = startAnswer(services, run, ends);
      if (isUnseen) growing.show({ type: "unseen" });
      const abortSignal = AbortSignal.any([settings.abortSignal, ends.stop]);
      const tools = toolsFor(services, { run, submitter, show: (part) => growing.show(part) });
      const written = () => {
        const { text, thinking } = growing.answer();
        return count(text) + count(thinking);
      };
      const tally = tallySteps({ progress, written, inputTokens: call.inputTokens + shown.tokens });
      const streaming = { context: asked, tools, maxSteps, progress: tally.progress, sink: growing };
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
      const said = growing.answer();
      // Words about pictures may come from them.
      const value = context.pictures ? { ...said, isRecalled: false } : said;
      if (streamed && isEmpty(value)) throw emptyAnswer(value, streamed, model);
      const usage = streamed && isKnown(streamed.usage) ? streamed.usage : tally.usage();
      return { value, usage, readTokens: streamed?.readTokens };
    },
  });
}

const isKnown = ({ inputTokens, outputTokens }: Usage) =>
  inputTokens !== undefined && outputTokens !== undefined;

const isEmpty = ({ text, parts }: Answer) =>
  text.trim() === "" && parts.every(({ type }) => type === "unseen");

function emptyAnswer({ thinking }: Answer, { usage, isCut }: Streamed, { maxOutputTokens }: StageModel) {
  const isThought = thinking.trim() !== "";
  const message = !isThought
    ? undefined
    : isCut
      ? `The language model spent all of its ${maxOutputTokens} tokens on thinking and gave no answer. Ask something smaller; the admin can raise assistant.responder.maxOutputTokens.`
      : "The language model thought, and then gave no answer. Ask again, or in other words.";
  return new ModelError("empty", message, { usage });
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
