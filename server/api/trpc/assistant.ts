import { z } from "zod";
import {
  approve,
  ask,
  askSchema,
  decline,
  deleteConversation,
  findStageModel,
  listConversations,
  readConversation,
  readUsed,
  stopRun,
  tellStop,
} from "../../assistant/index.ts";
import type { Caller } from "../../accounts/index.ts";
import { AppError } from "../../platform/index.ts";
import type { Services } from "../../services.ts";
import { t } from "./init.ts";
import { memberProcedure } from "./procedures.ts";

const byId = z.object({ id: z.string() });

/** What the page says about the assistant of this studio. */
function readStatus({ env, config }: Services, { isGuest }: Caller) {
  const model = findStageModel({ env, config }, "responder");
  if ("problem" in model) return { model: null, mayAsk: true };
  // Guests never spend.
  const isFree = model.price.inputUsd === 0 && model.price.outputUsd === 0;
  return { model: model.id, mayAsk: isFree || !isGuest };
}

/** The assistant of the caller. */
export const assistantRouter = t.router({
  status: memberProcedure.query(({ ctx }) => readStatus(ctx.services, ctx.caller)),
  ask: memberProcedure.input(askSchema).mutation(({ ctx, input }) => {
    if (!readStatus(ctx.services, ctx.caller).mayAsk)
      throw new AppError("forbidden", "Guests cannot ask a model that costs money. Create an account.");
    return ask(ctx.services, { ...input, ownerId: ctx.caller.userId });
  }),
  stop: memberProcedure.input(byId).mutation(async ({ ctx, input }) => {
    await stopRun(ctx.services, { ownerId: ctx.caller.userId, id: input.id });
    await tellStop(ctx.services, input.id);
  }),
  conversations: memberProcedure
    .input(z.object({ before: z.iso.datetime().optional() }).optional())
    .query(({ ctx, input }) =>
      listConversations(ctx.services, { ownerId: ctx.caller.userId, before: input?.before }),
    ),
  conversation: memberProcedure
    .input(byId)
    .query(({ ctx, input }) => readConversation(ctx.services, { ownerId: ctx.caller.userId, id: input.id })),
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
    .input(z.object({ id: z.string(), hasConsent: z.boolean().default(false) }))
    .mutation(({ ctx, input }) => approve(ctx.services, { ...input, submitter: ctx.caller })),
  decline: memberProcedure
    .input(byId)
    .mutation(({ ctx, input }) => decline(ctx.services, { ownerId: ctx.caller.userId, id: input.id })),
});
