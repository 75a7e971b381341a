import { z } from "zod";
import {
  addMemory,
  deleteMemory,
  editMemory,
  exportMemories,
  forgetEverything,
  isMemoryPaused,
  listMemories,
  listMemoriesSchema,
  memoryText,
  pauseMemory,
  readSources,
} from "../../assistant/index.ts";
import { t } from "./init.ts";
import { memberProcedure } from "./procedures.ts";

const byId = z.object({ id: z.string() });

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
