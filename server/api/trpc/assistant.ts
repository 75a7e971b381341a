import { z } from "zod";
import type { Caller } from "../../accounts/index.ts";
import {
  activatePrompt,
  addMemory,
  addPrompt,
  approve,
  ask,
  askSchema,
  changeConversation,
  changeConversationSchema,
  decline,
  deleteConversation,
  deleteMemory,
  describesPictures,
  editMemory,
  exportMemories,
  findStageModel,
  findTalks,
  findTalksSchema,
  findVectorModel,
  forgetEverything,
  isMemoryPaused,
  listConversations,
  improvePrompt,
  improveSchema,
  listMemories,
  listMemoriesSchema,
  listModelNotes,
  listPrompts,
  listQuestions,
  listQuestionsSchema,
  mayQuestionsCost,
  pictureRecipient,
  memoryText,
  type ModelStage,
  pauseMemory,
  promptText,
  readConversation,
  readConversationSchema,
  readDescriptionFigures,
  readFigures,
  readQuestionStory,
  readSources,
  readUsed,
  setDescribesPictures,
  stopQuestion,
  trialSchema,
  tryPrompt,
  visionModel,
} from "../../assistant/index.ts";
import { promptRoles } from "../../db/index.ts";
import { agreedSchema } from "../../jobs/index.ts";
import { AppError } from "../../platform/index.ts";
import type { Services } from "../../services.ts";
import { asOneOfFew } from "../requests.ts";
import { t } from "./init.ts";
import { adminAction, adminPromptAction, adminProcedure, memberProcedure } from "./procedures.ts";

const byId = z.object({ id: z.string() });

/** What the page says about the assistant of this studio. */
function readStatus({ env, config }: Services, { isGuest }: Caller) {
  const model = findStageModel({ env, config }, "responder");
  if ("problem" in model) return { model: null, mayAsk: true };
  // Guests never spend.
  return { model: model.id, mayAsk: !isGuest || !mayQuestionsCost({ env, config }) };
}

/** The assistant of the caller. */
export const assistantRouter = t.router({
  status: memberProcedure.query(async ({ ctx }) => ({
    ...readStatus(ctx.services, ctx.caller),
    /** The recipient of a question's pictures; null when no model is shown any. */
    picturesTo: await pictureRecipient(ctx.services),
  })),
  ask: memberProcedure.input(askSchema).mutation(({ ctx, input }) => {
    if (!readStatus(ctx.services, ctx.caller).mayAsk)
      throw new AppError("forbidden", "Guests cannot ask a model that costs money. Create an account.");
    return ask(ctx.services, { ...input, ownerId: ctx.caller.userId, apiKeyId: ctx.caller.keyId });
  }),
  /** A better prompt for a picture, to be shown before it is used. */
  improvePrompt: memberProcedure.input(improveSchema).mutation(async ({ ctx, input, signal }) => {
    if (!readStatus(ctx.services, ctx.caller).mayAsk)
      throw new AppError("forbidden", "Guests cannot ask a model that costs money. Create an account.");
    const asked = { ...input, ownerId: ctx.caller.userId, signal: signal ?? ctx.request.signal };
    return asOneOfFew(ctx, "trial", () => improvePrompt(ctx.services, asked));
  }),
  stop: memberProcedure
    .input(byId)
    .mutation(({ ctx, input }) => stopQuestion(ctx.services, { ownerId: ctx.caller.userId, id: input.id })),
  conversations: memberProcedure
    .input(z.strictObject({ cursor: z.string().max(100).optional() }).optional())
    .query(({ ctx, input }) =>
      listConversations(ctx.services, { ownerId: ctx.caller.userId, cursor: input?.cursor }),
    ),
  conversation: memberProcedure
    .input(readConversationSchema)
    .query(({ ctx, input }) => readConversation(ctx.services, { ...input, ownerId: ctx.caller.userId })),
  /** Conversations by what was said in them. */
  find: memberProcedure
    .input(findTalksSchema)
    .query(({ ctx, input }) => findTalks(ctx.services, { ...input, ownerId: ctx.caller.userId })),
  changeConversation: memberProcedure
    .input(changeConversationSchema)
    .mutation(({ ctx, input }) => changeConversation(ctx.services, { ...input, ownerId: ctx.caller.userId })),
  deleteConversation: memberProcedure
    .input(byId)
    .mutation(({ ctx, input }) =>
      deleteConversation(ctx.services, { ownerId: ctx.caller.userId, id: input.id }),
    ),
  /** The memories that an answer could use. */
  used: memberProcedure.input(byId).query(async ({ ctx, input }) => ({
    items: await readUsed(ctx.services, { ownerId: ctx.caller.userId, id: input.id }),
  })),
  approve: memberProcedure
    .input(
      z.object({
        id: z.string(),
        hasConsent: z.boolean().default(false),
        ownOnly: z.boolean().default(false),
        agreed: agreedSchema.optional(),
      }),
    )
    .mutation(({ ctx, input }) => approve(ctx.services, { ...input, submitter: ctx.caller })),
  decline: memberProcedure
    .input(byId)
    .mutation(({ ctx, input }) => decline(ctx.services, { ownerId: ctx.caller.userId, id: input.id })),
  /** Whether pictures without words are described: by the studio at all, and those of the caller. */
  describing: memberProcedure.query(async ({ ctx }) => ({
    isOffered: visionModel(ctx.services) !== null,
    isOn: await describesPictures(ctx.services, ctx.caller.userId),
  })),
  setDescribing: memberProcedure
    .input(z.strictObject({ isOn: z.boolean() }))
    .mutation(({ ctx, input }) =>
      setDescribesPictures(ctx.services, { userId: ctx.caller.userId, isOn: input.isOn }),
    ),
});

/** What the assistant remembers of the caller. */
export const memoriesRouter = t.router({
  list: memberProcedure
    .input(listMemoriesSchema)
    .query(({ ctx, input }) => listMemories(ctx.services, { ...input, ownerId: ctx.caller.userId })),
  sources: memberProcedure.input(byId).query(async ({ ctx, input }) => ({
    items: await readSources(ctx.services, { ownerId: ctx.caller.userId, id: input.id }),
  })),
  add: memberProcedure
    .input(z.object({ text: memoryText }))
    .mutation(({ ctx, input }) => addMemory(ctx.services, { ...input, ownerId: ctx.caller.userId })),
  edit: memberProcedure
    .input(z.object({ id: z.string(), text: memoryText }))
    .mutation(({ ctx, input }) => editMemory(ctx.services, { ...input, ownerId: ctx.caller.userId })),
  delete: memberProcedure
    .input(byId)
    .mutation(({ ctx, input }) => deleteMemory(ctx.services, { ownerId: ctx.caller.userId, id: input.id })),
  export: memberProcedure.query(async ({ ctx }) => ({
    items: await exportMemories(ctx.services, ctx.caller.userId),
  })),
  isPaused: memberProcedure.query(async ({ ctx }) => ({
    isPaused: await isMemoryPaused(ctx.services, ctx.caller.userId),
  })),
  pause: memberProcedure
    .input(z.object({ isPaused: z.boolean() }))
    .mutation(({ ctx, input }) =>
      pauseMemory(ctx.services, { userId: ctx.caller.userId, isPaused: input.isPaused }),
    ),
  /** Everything: conversations too. */
  forget: memberProcedure
    .input(z.object({ confirm: z.literal("forget") }))
    .mutation(({ ctx }) => forgetEverything(ctx.services, ctx.caller.userId)),
});

const hoursOf = { "1h": 1, "24h": 24, "7d": 168 } as const;
const modelStages: readonly ModelStage[] = ["analyzer", "responder", "archivist"];
const role = z.enum(promptRoles);

/** The assistant of the studio, for admins. */
export const adminAssistantRouter = t.router({
  figures: adminProcedure
    .input(z.strictObject({ window: z.enum(["1h", "24h", "7d"]).default("24h") }))
    .query(({ ctx, input }) => readFigures(ctx.services, { hours: hoursOf[input.window] })),
  /** How far the descriptions of pictures are; null without a model for them. */
  descriptions: adminProcedure.query(({ ctx }) => readDescriptionFigures(ctx.services)),
  /** The model of each stage, or what it lacks; those of embeddings and pictures where one is set up. */
  models: adminProcedure.query(async ({ ctx }) => {
    const notes = new Map((await listModelNotes(ctx.services)).map((note) => [note.model, note]));
    const vectors = findVectorModel(ctx.services);
    const vision = visionModel(ctx.services);
    const found = [
      ...modelStages.map((stage) => ({ stage, model: findStageModel(ctx.services, stage) })),
      ...(vectors ? [{ stage: "embedding" as const, model: vectors }] : []),
      ...(vision ? [{ stage: "describer" as const, model: vision }] : []),
    ];
    return {
      items: found.map(({ stage, model }) =>
        "problem" in model
          ? { stage, model: null, problem: model.problem, hasPrice: true, note: null }
          : {
              stage,
              model: model.id,
              problem: null,
              hasPrice: model.price.isKnown,
              note: notes.get(model.id) ?? null,
            },
      ),
    };
  }),
  runs: adminProcedure
    .input(listQuestionsSchema)
    .query(({ ctx, input }) => listQuestions(ctx.services, input)),
  story: adminProcedure.input(byId).query(({ ctx, input }) => readQuestionStory(ctx.services, input.id)),
  prompts: adminProcedure.query(async ({ ctx }) => ({ items: await listPrompts(ctx.services) })),
  addPrompt: adminPromptAction
    .input(z.strictObject({ role, text: promptText, note: z.string().trim().max(200).default("") }))
    .mutation(async ({ ctx, input }) => ({
      version: await addPrompt(ctx.services, { ...input, authorId: ctx.caller.userId }),
    })),
  /** Ends with the request: a page that is left, or its admin, cancels it. */
  tryPrompt: adminPromptAction.input(trialSchema).mutation(async ({ ctx, input, signal }) => {
    const trial = { trial: input, ownerId: ctx.caller.userId, signal: signal ?? ctx.request.signal };
    return { sides: await asOneOfFew(ctx, "trial", () => tryPrompt(ctx.services, trial)) };
  }),
  activatePrompt: adminAction
    .input(z.strictObject({ role, version: z.int32().min(1) }))
    .mutation(({ ctx, input }) => activatePrompt(ctx.services, input)),
});
